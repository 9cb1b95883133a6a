// The frame for mail: an empty document that lets nothing run and nothing out.

import { useTeal } from '../../../running.ts'
import { scenarios } from '../../scenario.ts'

const service = useTeal()

scenarios(
  () => ({ url: service.teal.url }),
  [
    {
      name: 'is closed',
      url: '/frame/closed',
      status: 200,
      has: ['<body></body>'],
      lacks: ['<script'],
      header: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': /^default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; .*sandbox /,
        'referrer-policy': 'no-referrer',
      },
    },
    {
      name: 'lets pictures in where they are wanted, and no scripts',
      url: '/frame/pictures',
      status: 200,
      header: {
        'content-security-policy':
          /^(?!.*allow-(scripts|forms|top)).*img-src data: blob: https: http:; form-action 'none'/,
      },
    },
    { name: 'is nothing else', url: '/frame/other', status: 404 },
  ],
)
