// The queries of the dashboard and of the alert rules in deploy/, each with where it stands.

import { readFileSync } from 'node:fs'

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

export const ruleFile = 'deploy/monitoring/teal-alerts.yml'
const dashboardFile = 'deploy/monitoring/grafana-teal.json'

export function* queries(): Generator<[where: string, query: string]> {
  const { panels } = JSON.parse(readFileSync(dashboardFile, 'utf8')) as { panels: readonly Panel[] }
  for (const { title, targets } of panels) {
    for (const [at, { expr }] of targets.entries()) yield [`panel ${title}, ${at + 1}`, expr]
  }
  const rules = readFileSync(ruleFile, 'utf8').split('- alert: ').slice(1)
  for (const rule of rules) {
    const expr = /expr: (?:>-\n)?([\s\S]*?)\n {8}(?:for|labels):/.exec(rule)?.[1] ?? ''
    yield [`alert ${rule.split('\n')[0]}`, expr.replace(/\s+/g, ' ').trim()]
  }
}
