// What stands in the log of an account, in German.

import type { happened as english } from './en.ts'

export const happened: typeof english = {
  result: { success: 'Erfolgreich', fail: 'Abgelehnt', ratelimited: 'Zu viele Versuche' },
  actions: {
    'account created': 'Konto angelegt',
    authentication: 'Anmeldung',
    'password change': 'Passwort geändert',
    reset: 'Vorläufiges Passwort erzeugt',
    'enable 2fa totp': 'Authenticator-App eingeschaltet',
    'disable 2fa totp': 'Authenticator-App ausgeschaltet',
    'check 2fa totp': 'Code einer Authenticator-App',
    'enable 2fa custom': 'Zweiter Faktor eines anderen Dienstes eingeschaltet',
    'disable 2fa custom': 'Zweiter Faktor eines anderen Dienstes ausgeschaltet',
    'disable 2fa': 'Alle zweiten Faktoren ausgeschaltet',
    'register webauthn': 'Schlüssel eingerichtet',
    'remove webauthn': 'Schlüssel entfernt',
    'check 2fa webauthn': 'Sicherheitsschlüssel',
    'create asp': 'App-Passwort erzeugt',
    'delete asp': 'App-Passwort widerrufen',
    'session ended': 'Sitzung beendet',
    'sessions ended': 'Andere Sitzungen beendet',
    logout: 'Überall abgemeldet',
    'user forward added': 'Weiterleitung hinzugefügt',
    'filter added': 'Filter hinzugefügt',
    'filter forward added': 'Filter hinzugefügt, der weiterleitet',
    impersonate: 'Jemand handelt im Namen dieses Benutzers',
    'impersonate end': 'Handeln im Namen dieses Benutzers beendet',
    'delete user': 'Konto gelöscht',
    'restore user': 'Konto wiederhergestellt',
  },
}
