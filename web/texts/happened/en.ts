// What stands in the log of an account, in English: what happened by its name there, and what came of it.
//
// Its owner and whoever looks after the service read the same words.

export const happened = {
  result: { success: 'Succeeded', fail: 'Refused', ratelimited: 'Too many attempts' },
  actions: {
    'account created': 'Account created',
    authentication: 'Sign-in',
    'password change': 'Password changed',
    reset: 'Temporary password made',
    'enable 2fa totp': 'Authenticator turned on',
    'disable 2fa totp': 'Authenticator turned off',
    'check 2fa totp': 'Code of an authenticator',
    'enable 2fa custom': 'Second factor of another service turned on',
    'disable 2fa custom': 'Second factor of another service turned off',
    'disable 2fa': 'All second factors turned off',
    'register webauthn': 'Key registered',
    'remove webauthn': 'Key removed',
    'check 2fa webauthn': 'Security key',
    'create asp': 'App password created',
    'delete asp': 'App password taken back',
    'session ended': 'Session ended',
    'sessions ended': 'Other sessions ended',
    logout: 'Signed out everywhere',
    'user forward added': 'Forwarding added',
    'filter added': 'Filter added',
    'filter forward added': 'Filter that sends on added',
    impersonate: 'Somebody acts as this user',
    'impersonate end': 'Acting as this user ended',
    'delete user': 'Account deleted',
    'restore user': 'Account restored',
  } as Readonly<Record<string, string>>,
}
