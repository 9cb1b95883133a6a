// Every endpoint there is, and the one place that knows them all: the router and the documentation come from this list.
//
// A family of endpoints is a factory that takes just what it needs; ApiDeps has one group for each. What is not in this
// list cannot be called and is not documented.

import { type RegisterDeps, registerEndpoints } from './api/accounts/address-book.ts'
import { type AddressDeps, addressEndpoints } from './api/accounts/addresses.ts'
import { type AutoreplyDeps, autoreplyEndpoints } from './api/accounts/autoreply.ts'
import { type DirectoryDeps, directoryEndpoints } from './api/accounts/directory.ts'
import { type DomainDeps, domainEndpoints } from './api/accounts/domains.ts'
import { type ForwardedDeps, forwardedEndpoints } from './api/accounts/forwarded.ts'
import { type PasswordResetDeps, passwordResetEndpoints } from './api/accounts/password-reset.ts'
import { type RemovalDeps, removalEndpoints } from './api/accounts/removal.ts'
import { type StorageDeps, storageEndpoints } from './api/accounts/storage.ts'
import { type TaskDeps, taskEndpoints } from './api/accounts/tasks.ts'
import { type UserDeps, userEndpoints } from './api/accounts/users.ts'
import { type ApplicationPasswordDeps, applicationPasswordEndpoints } from './api/auth/application-passwords.ts'
import { type AuthenticationDeps, authenticationEndpoints } from './api/auth/authentication.ts'
import { type AuthLogDeps, authLogEndpoints } from './api/auth/authlog.ts'
import { type ChallengeDeps, challengeEndpoints } from './api/auth/challenges.ts'
import { type SecondFactorDeps, secondFactorEndpoints } from './api/auth/second-factor.ts'
import { type WebAuthnDeps, webAuthnEndpoints } from './api/auth/webauthn.ts'
import type { FilterDeps } from './api/filters/filter-deps.ts'
import { filterEndpoints } from './api/filters/filters.ts'
import { type MailboxDeps, mailboxEndpoints } from './api/messages/mailboxes.ts'
import type { MessageDeps } from './api/messages/message-deps.ts'
import { messageEndpoints } from './api/messages/messages.ts'
import { type OutboundDeps, outboundEndpoints } from './api/messages/outbound.ts'
import { outboundQueueEndpoints } from './api/messages/outbound-queue.ts'
import { type UpdateDeps, updateEndpoints } from './api/messages/updates.ts'
import { type AuditDeps, auditEndpoints } from './api/service/audit.ts'
import { type AutoconfigDeps, autoconfigEndpoints } from './api/service/autoconfig.ts'
import { type CertificateDeps, certificateEndpoints } from './api/service/certificates.ts'
import { type DkimDeps, dkimEndpoints } from './api/service/dkim.ts'
import { type DocumentationDeps, documentationEndpoints } from './api/service/documentation.ts'
import { type HealthDeps, healthEndpoints } from './api/service/health.ts'
import { type MetricsDeps, metricsEndpoints } from './api/service/metrics.ts'
import { type SettingDeps, settingEndpoints } from './api/service/settings.ts'
import { type TransferDeps, transferEndpoints } from './api/service/transfer.ts'
import { type WebhookDeps, webhookEndpoints } from './api/service/webhooks.ts'
import type { Endpoint } from './endpoint.ts'

/** What each family of endpoints needs, by family. */
export interface ApiDeps {
  readonly authentication: AuthenticationDeps
  readonly authLog: AuthLogDeps
  readonly secondFactor: SecondFactorDeps
  readonly webAuthn: WebAuthnDeps
  readonly applicationPasswords: ApplicationPasswordDeps
  readonly passwordReset: PasswordResetDeps
  readonly users: UserDeps
  readonly removal: RemovalDeps
  readonly updates: UpdateDeps
  readonly addresses: AddressDeps
  readonly directory: DirectoryDeps
  readonly forwarded: ForwardedDeps
  readonly register: RegisterDeps
  readonly domains: DomainDeps
  readonly mailboxes: MailboxDeps
  readonly storage: StorageDeps
  readonly settings: SettingDeps
  readonly messages: MessageDeps
  readonly filters: FilterDeps
  readonly autoreply: AutoreplyDeps
  readonly outbound: OutboundDeps
  readonly tasks: TaskDeps
  readonly webhooks: WebhookDeps
  readonly transfer: TransferDeps
  readonly audit: AuditDeps
  readonly autoconfig: AutoconfigDeps
  readonly certificates: CertificateDeps
  readonly challenges: ChallengeDeps
  readonly dkim: DkimDeps
  readonly health: HealthDeps
  readonly metrics: MetricsDeps
  readonly documentation: DocumentationDeps
}

export function apiEndpoints(deps: ApiDeps): Endpoint[] {
  const endpoints = [
    ...authenticationEndpoints(deps.authentication),
    ...authLogEndpoints(deps.authLog),
    ...secondFactorEndpoints(deps.secondFactor),
    ...webAuthnEndpoints(deps.webAuthn),
    ...applicationPasswordEndpoints(deps.applicationPasswords),
    ...passwordResetEndpoints(deps.passwordReset),
    ...userEndpoints(deps.users),
    ...removalEndpoints(deps.removal),
    ...updateEndpoints(deps.updates),
    ...addressEndpoints(deps.addresses),
    ...directoryEndpoints(deps.directory),
    ...forwardedEndpoints(deps.forwarded),
    ...registerEndpoints(deps.register),
    ...domainEndpoints(deps.domains),
    ...mailboxEndpoints(deps.mailboxes),
    ...storageEndpoints(deps.storage),
    ...settingEndpoints(deps.settings),
    ...messageEndpoints(deps.messages),
    ...filterEndpoints(deps.filters),
    ...autoreplyEndpoints(deps.autoreply),
    ...outboundEndpoints(deps.outbound),
    ...outboundQueueEndpoints(deps.outbound),
    ...taskEndpoints(deps.tasks),
    ...webhookEndpoints(deps.webhooks),
    ...transferEndpoints(deps.transfer),
    ...auditEndpoints(deps.audit),
    ...autoconfigEndpoints(deps.autoconfig),
    ...certificateEndpoints(deps.certificates),
    ...challengeEndpoints(deps.challenges),
    ...dkimEndpoints(deps.dkim),
    ...healthEndpoints(deps.health),
    ...metricsEndpoints(deps.metrics),
  ]
  return [...endpoints, ...documentationEndpoints(endpoints, deps.documentation)]
}
