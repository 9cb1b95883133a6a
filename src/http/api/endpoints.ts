// Every endpoint there is, and the one place that knows them all: the router and the documentation come from this list.
//
// A family of endpoints is a factory that takes just what it needs; ApiDeps has one group for each. What is not in this
// list cannot be called and is not documented.

import type { Endpoint } from '../endpoint.ts'
import { type AddressBookDeps, addressBookEndpoints } from './accounts/address-book.ts'
import { type AddressDeps, addressEndpoints } from './accounts/addresses.ts'
import { type AutoreplyDeps, autoreplyEndpoints } from './accounts/autoreply.ts'
import { type DirectoryDeps, directoryEndpoints } from './accounts/directory.ts'
import { type DomainDeps, domainEndpoints } from './accounts/domains.ts'
import { type ForwardedDeps, forwardedEndpoints } from './accounts/forwarded.ts'
import { type PasswordResetDeps, passwordResetEndpoints } from './accounts/password-reset.ts'
import { type RemovalDeps, removalEndpoints } from './accounts/removal.ts'
import { type StorageDeps, storageEndpoints } from './accounts/storage.ts'
import { type TaskDeps, taskEndpoints } from './accounts/tasks.ts'
import { type UserDeps, userEndpoints } from './accounts/users.ts'
import { type BackupDeps, backupEndpoints } from './admin/backups.ts'
import { type ConfigurationDeps, configurationEndpoints } from './admin/configuration.ts'
import { type DomainDnsDeps, domainDnsEndpoints } from './admin/domain-dns.ts'
import { type FigureDeps, figureEndpoints } from './admin/figures.ts'
import { type LogDeps, logEndpoints } from './admin/log.ts'
import { type TokenDeps, tokenEndpoints } from './admin/tokens.ts'
import { type ApplicationPasswordDeps, applicationPasswordEndpoints } from './auth/application-passwords.ts'
import { type AuthenticationDeps, authenticationEndpoints } from './auth/authentication.ts'
import { type AuthLogDeps, authLogEndpoints } from './auth/authlog.ts'
import { type ChallengeDeps, challengeEndpoints } from './auth/challenges.ts'
import { type PageSessionDeps, pageSessionEndpoints } from './auth/page-session.ts'
import { passkeySessionEndpoints } from './auth/passkey-session.ts'
import { type SecondFactorDeps, secondFactorEndpoints } from './auth/second-factor.ts'
import { type WebAuthnDeps, webAuthnEndpoints } from './auth/webauthn.ts'
import { type ManagedDomainDeps, managedDomainEndpoints } from './domains/managed.ts'
import type { FilterDeps } from './filters/filter-deps.ts'
import { filterEndpoints } from './filters/filters.ts'
import { type MailboxDeps, mailboxEndpoints } from './messages/mailboxes.ts'
import type { MessageDeps } from './messages/message-deps.ts'
import { messageEndpoints } from './messages/messages.ts'
import { type UpdateDeps, updateEndpoints } from './messages/updates.ts'
import { type ContactDeps, contactEndpoints } from './owner/contacts.ts'
import { everythingEndpoints } from './owner/everything.ts'
import { type ImportDeps, importEndpoints } from './owner/imports.ts'
import { mailFrameEndpoints } from './owner/mail-frame.ts'
import { type SessionDeps, sessionEndpoints } from './owner/sessions.ts'
import { type OutboundDeps, outboundEndpoints } from './sending/outbound.ts'
import { outboundQueueEndpoints } from './sending/outbound-queue.ts'
import { pauseEndpoints } from './sending/pauses.ts'
import { suppressionEndpoints } from './sending/suppressions.ts'
import { traceEndpoints } from './sending/trace.ts'
import { type AuditDeps, auditEndpoints } from './service/audit.ts'
import { type AutoconfigDeps, autoconfigEndpoints } from './service/autoconfig.ts'
import { type CertificateDeps, certificateEndpoints } from './service/certificates.ts'
import { type DkimDeps, dkimEndpoints } from './service/dkim.ts'
import { type DocumentationDeps, documentationEndpoints } from './service/documentation.ts'
import { type DomainKeyDeps, domainKeyEndpoints } from './service/domain-keys.ts'
import { type HealthDeps, healthEndpoints } from './service/health.ts'
import { type MetricsDeps, metricsEndpoints } from './service/metrics.ts'
import { pageEndpoints } from './service/page.ts'
import { type ReportDeps, reportEndpoints } from './service/reports.ts'
import { type SettingDeps, settingEndpoints } from './service/settings.ts'
import { type TransferDeps, transferEndpoints } from './service/transfer.ts'
import { type WebhookDeps, webhookEndpoints } from './service/webhooks.ts'

/** What each family of endpoints needs, by family. */
export interface ApiDeps {
  readonly authentication: AuthenticationDeps
  readonly authLog: AuthLogDeps
  readonly sessions: SessionDeps
  readonly secondFactor: SecondFactorDeps
  readonly webAuthn: WebAuthnDeps
  readonly pageSession: PageSessionDeps
  readonly applicationPasswords: ApplicationPasswordDeps
  readonly passwordReset: PasswordResetDeps
  readonly users: UserDeps
  readonly removal: RemovalDeps
  readonly updates: UpdateDeps
  readonly addresses: AddressDeps
  readonly directory: DirectoryDeps
  readonly forwarded: ForwardedDeps
  readonly addressBook: AddressBookDeps
  readonly contacts: ContactDeps
  readonly domains: DomainDeps
  readonly managedDomains: ManagedDomainDeps
  readonly mailboxes: MailboxDeps
  readonly storage: StorageDeps
  readonly settings: SettingDeps
  readonly messages: MessageDeps
  readonly filters: FilterDeps
  readonly autoreply: AutoreplyDeps
  readonly outbound: OutboundDeps
  readonly tasks: TaskDeps
  readonly imports: ImportDeps
  readonly webhooks: WebhookDeps
  readonly transfer: TransferDeps
  readonly audit: AuditDeps
  readonly autoconfig: AutoconfigDeps
  readonly certificates: CertificateDeps
  readonly challenges: ChallengeDeps
  readonly dkim: DkimDeps
  readonly domainKeys: DomainKeyDeps
  readonly reports: ReportDeps
  readonly health: HealthDeps
  readonly metrics: MetricsDeps
  readonly tokens: TokenDeps
  readonly figures: FigureDeps
  readonly domainDns: DomainDnsDeps
  readonly logLines: LogDeps
  readonly configuration: ConfigurationDeps
  readonly backups: BackupDeps
  readonly documentation: DocumentationDeps
}

export function apiEndpoints(deps: ApiDeps): Endpoint[] {
  const endpoints = [
    ...authenticationEndpoints(deps.authentication),
    ...authLogEndpoints(deps.authLog),
    ...sessionEndpoints(deps.sessions),
    ...secondFactorEndpoints(deps.secondFactor),
    ...webAuthnEndpoints(deps.webAuthn),
    ...pageSessionEndpoints(deps.pageSession),
    ...passkeySessionEndpoints(deps.pageSession),
    ...applicationPasswordEndpoints(deps.applicationPasswords),
    ...passwordResetEndpoints(deps.passwordReset),
    ...userEndpoints(deps.users),
    ...removalEndpoints(deps.removal),
    ...updateEndpoints(deps.updates),
    ...addressEndpoints(deps.addresses),
    ...directoryEndpoints(deps.directory),
    ...forwardedEndpoints(deps.forwarded),
    ...addressBookEndpoints(deps.addressBook),
    ...contactEndpoints(deps.contacts),
    ...mailFrameEndpoints(),
    ...domainEndpoints(deps.domains),
    ...managedDomainEndpoints(deps.managedDomains),
    ...mailboxEndpoints(deps.mailboxes),
    ...storageEndpoints(deps.storage),
    ...settingEndpoints(deps.settings),
    ...messageEndpoints(deps.messages),
    ...filterEndpoints(deps.filters),
    ...autoreplyEndpoints(deps.autoreply),
    ...outboundEndpoints(deps.outbound),
    ...outboundQueueEndpoints(deps.outbound),
    ...suppressionEndpoints(deps.outbound),
    ...pauseEndpoints(deps.outbound),
    ...traceEndpoints(deps.outbound),
    ...taskEndpoints(deps.tasks),
    ...importEndpoints(deps.imports),
    ...webhookEndpoints(deps.webhooks),
    ...transferEndpoints(deps.transfer),
    ...auditEndpoints(deps.audit),
    ...autoconfigEndpoints(deps.autoconfig),
    ...certificateEndpoints(deps.certificates),
    ...challengeEndpoints(deps.challenges),
    ...dkimEndpoints(deps.dkim),
    ...domainKeyEndpoints(deps.domainKeys),
    ...reportEndpoints(deps.reports),
    ...healthEndpoints(deps.health),
    ...metricsEndpoints(deps.metrics),
    ...tokenEndpoints(deps.tokens),
    ...figureEndpoints(deps.figures),
    ...domainDnsEndpoints(deps.domainDns),
    ...logEndpoints(deps.logLines),
    ...configurationEndpoints(deps.configuration),
    ...backupEndpoints(deps.backups),
  ]
  endpoints.push(...everythingEndpoints({ ...deps.messages, ...deps.authLog }, endpoints))
  const documentation = documentationEndpoints(endpoints, deps.documentation)
  return [
    ...endpoints,
    ...documentation,
    ...documentation.filter(({ path }) => path === '/docs').flatMap(pageEndpoints),
  ]
}
