// The only places where a rule of style may be broken, each with the reason. One that is needed no more is a failure.

export interface Exemption {
  readonly rule: string
  readonly path: string
  /** First words of the findings that are meant; without it all of this rule in this file are. */
  readonly details?: readonly string[]
  readonly reason: string
}

export const exemptions: readonly Exemption[] = [
  { rule: 'file length', path: 'src/lib/limits.ts', reason: 'the one table of limits, each with its unit and reason' },
  {
    rule: 'clock',
    path: 'src/http/front/node-wire.ts',
    reason: "a socket's own timer, which Node pushes on with every byte",
  },
  {
    rule: 'environment',
    path: 'src/http/environment.ts',
    reason: 'uWebSockets.js takes this setting from the environment and nowhere else, while it is loaded',
  },
  {
    rule: 'environment',
    path: 'src/testing/run/environment.ts',
    reason: "what a runner's workers inherit of the process that starts them is the environment",
  },
  {
    rule: 'default export',
    path: 'src/testing/global.ts',
    reason: 'runners take the default export of their globalSetup',
  },
  {
    rule: 'default export',
    path: 'src/testing/global.d.ts',
    reason: 'the types of that file',
  },
  {
    rule: 'web',
    path: 'web/early.tsx',
    details: ['preact-render-to-string'],
    reason: 'it is run by the build, which puts what it makes into the page',
  },
]
