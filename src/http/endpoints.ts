// Every endpoint there is, and the one place that knows them all: the router and the documentation come from this list.
//
// A family of endpoints is a factory that takes just what it needs; ApiDeps has one group for each. What is not in this
// list cannot be called and is not documented.

import { type AddressDeps, addressEndpoints } from './api/addresses.ts'
import { type ApplicationPasswordDeps, applicationPasswordEndpoints } from './api/application-passwords.ts'
import { type AuditDeps, auditEndpoints } from './api/audit.ts'
import { type AuthenticationDeps, authenticationEndpoints } from './api/authentication.ts'
import { type AuthLogDeps, authLogEndpoints } from './api/authlog.ts'
import { type AutoconfigDeps, autoconfigEndpoints } from './api/autoconfig.ts'
import { type AutoreplyDeps, autoreplyEndpoints } from './api/autoreply.ts'
import { type CertificateDeps, certificateEndpoints } from './api/certificates.ts'
import { type ChallengeDeps, challengeEndpoints } from './api/challenges.ts'
import { type DirectoryDeps, directoryEndpoints } from './api/directory.ts'
import { type DkimDeps, dkimEndpoints } from './api/dkim.ts'
import { type DocumentationDeps, documentationEndpoints } from './api/documentation.ts'
import { type DomainDeps, domainEndpoints } from './api/domains.ts'
import { type FilterDeps, filterEndpoints } from './api/filters.ts'
import { type ForwardedDeps, forwardedEndpoints } from './api/forwarded.ts'
import { type HealthDeps, healthEndpoints } from './api/health.ts'
import { type MailboxDeps, mailboxEndpoints } from './api/mailboxes.ts'
import { type MessageDeps, messageEndpoints } from './api/messages.ts'
import { type MetricsDeps, metricsEndpoints } from './api/metrics.ts'
import { type OutboundDeps, outboundEndpoints } from './api/outbound.ts'
import { outboundQueueEndpoints } from './api/outbound-queue.ts'
import { type PasswordResetDeps, passwordResetEndpoints } from './api/password-reset.ts'
import { type RegisterDeps, registerEndpoints } from './api/register.ts'
import { type RemovalDeps, removalEndpoints } from './api/removal.ts'
import { type SecondFactorDeps, secondFactorEndpoints } from './api/second-factor.ts'
import { type SettingDeps, settingEndpoints } from './api/settings.ts'
import { type StorageDeps, storageEndpoints } from './api/storage.ts'
import { type TaskDeps, taskEndpoints } from './api/tasks.ts'
import { type TransferDeps, transferEndpoints } from './api/transfer.ts'
import { type UpdateDeps, updateEndpoints } from './api/updates.ts'
import { type UserDeps, userEndpoints } from './api/users.ts'
import { type WebAuthnDeps, webAuthnEndpoints } from './api/webauthn.ts'
import { type WebhookDeps, webhookEndpoints } from './api/webhooks.ts'
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
