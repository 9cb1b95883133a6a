// Who is let in and who has to go, with made-up connections from made-up networks.

import { describe, expect, test, vi } from 'vitest'
import { limits } from '#lib/limits.ts'
import { Admission, type Gate, type Peer, type Ticket } from '#net/admission.ts'
import { connectionsFor, descriptorsMax } from '#net/descriptors.ts'
import { Disconnected } from '#net/disconnected.ts'

interface Made {
  readonly ticket: Ticket
  gone: boolean
}

/** A connection that waits for its peer, or works. */
function open(gate: Gate, address: string, waiting: Peer['waiting'] = 'idle'): Made | undefined {
  const ticket = gate.admit(address)
  if (ticket === undefined) return undefined
  const made: Made = { ticket, gone: false }
  ticket.hold({
    waiting,
    displace: () => {
      made.gone = true
    },
  })
  return made
}

const address = (net: number, host = 1) => `10.${net >> 8}.${net & 255}.${host}`

function house(connectionsMax: number, perNetworkMax = 1000, total = Number.POSITIVE_INFINITY) {
  const admission = new Admission({ connectionsMax: total, trusted: text => text.startsWith('127.') })
  return { admission, gate: admission.gate({ connectionsMax, perNetworkMax }) }
}

describe('a thousand networks', () => {
  test('that hold connections keep nobody out, and send away nobody who logged in', () => {
    const { gate } = house(200)
    const users = Array.from({ length: 50 }, (_, at) => {
      const user = open(gate, address(5000 + at))
      user?.ticket.prove()
      return user
    })
    for (let round = 0; round < 3; round++) {
      for (let net = 0; net < 1000; net++) expect(open(gate, address(net))).toBeDefined()
    }
    expect(gate.strangers).toBe(100)
    expect(users.every(user => user?.gone === false)).toBe(true)
    const late = open(gate, address(6000))
    late?.ticket.prove()
    for (let net = 0; net < 1000; net++) open(gate, address(net))
    expect(late).toMatchObject({ gone: false })
    expect(gate.size).toBe(151)
  })

  test('the oldest goes, and first one of a network that has several', () => {
    const { gate } = house(12)
    const made = [1, 2, 3, 3, 4, 5].map((net, host) => open(gate, address(net, host + 1)))
    open(gate, address(6))
    expect(made.map(one => one?.gone)).toEqual([false, false, true, false, false, false])
    open(gate, address(7))
    expect(made.map(one => one?.gone)).toEqual([true, false, true, false, false, false])
  })

  test('who works on something stays while another waits, and a newcomer is refused where all work', () => {
    const { gate } = house(6)
    const made = (['midway', false, 'idle'] as const).map((waiting, net) => open(gate, address(net), waiting))
    open(gate, address(10), false)
    expect(made.map(one => one?.gone)).toEqual([false, false, true])
    open(gate, address(11), false)
    expect(made.map(one => one?.gone)).toEqual([true, false, true])
    expect(open(gate, address(12))).toBeUndefined()
  })

  test('who is in the middle of something for long goes as who waits idle, and who hands in a message begins anew', () => {
    const { gate } = house(8)
    const made = [1, 2, 3].map(net => open(gate, address(net), 'midway'))
    const clock = vi.spyOn(performance, 'now')
    clock.mockReturnValue(performance.now() + limits.net.midwayMs + 1)
    made[0]?.ticket.favour()
    expect(made.map(one => one?.ticket.waiting)).toEqual(['midway', 'idle', 'idle'])
    const late = [4, 5].map(net => open(gate, address(net), 'midway'))
    for (const net of [6, 7, 8]) open(gate, address(net), 'idle')
    clock.mockRestore()
    expect([...made, ...late].map(one => one?.gone)).toEqual([false, true, true, false, false])
  })

  test('who is made to wait for something goes as who waits idle, while that lasts', async () => {
    const { gate } = house(6)
    const made = (['midway', false, false] as const).map((waiting, net) => open(gate, address(net), waiting))
    const waits = Promise.withResolvers<number>()
    const lent = made[1]?.ticket.lend(waits.promise)
    expect(open(gate, address(10), false)).toBeDefined()
    expect(made.map(one => one?.gone)).toEqual([false, true, false])
    // What came of it is nobody's any more.
    waits.resolve(7)
    await expect(lent).rejects.toThrow(Disconnected)
    expect(await made[2]?.ticket.lend(Promise.resolve(7))).toBe(7)
    expect(open(gate, address(11), false)).toBeDefined()
    expect(made.map(one => one?.gone)).toEqual([true, true, false])
    expect(open(gate, address(12), false)).toBeUndefined()
  })

  test('from a network somebody logged in from a newcomer finds room, and stays when strangers come', () => {
    const { gate } = house(10)
    const first = open(gate, address(1))
    first?.ticket.prove()
    first?.ticket.release()
    const back = open(gate, address(1))
    for (let net = 100; net < 200; net++) open(gate, address(net))
    expect(back).toMatchObject({ gone: false })
  })

  test('whoever handed in a message goes after all strangers, and the latest of them last', () => {
    const { gate } = house(6)
    const made = [1, 2, 3].map(net => open(gate, address(net)))
    for (const one of made) one?.ticket.favour()
    made[0]?.ticket.favour()
    for (const net of [4, 5, 6, 7, 8]) open(gate, address(net))
    expect(made.map(one => one?.gone)).toEqual([false, false, false])
    open(gate, '127.0.0.1')
    open(gate, '127.0.0.1')
    open(gate, '127.0.0.1')
    expect(made.map(one => one?.gone)).toEqual([false, false, false])
    open(gate, '127.0.0.1')
    expect(made.map(one => one?.gone)).toEqual([false, true, false])
  })
})

describe('networks', () => {
  test('have a bound each, the ones around them some times that, and a quarter for strangers', () => {
    const { gate } = house(10_000, 8)
    const count = (make: (at: number) => string) =>
      Array.from({ length: 400 }, (_, at) => open(gate, make(at))).filter(made => made !== undefined).length
    expect(count(() => '10.1.1.1')).toBe(2)
    expect(count(at => `10.1.1.${at % 250}`)).toBe(6)
    expect(count(at => `2001:db8:1:1::${at.toString(16)}`)).toBe(2)
    expect(count(at => `2001:db8:1:${at.toString(16)}::1`)).toBe(6)
    expect(count(at => `2001:db8:${at.toString(16)}::1`)).toBe(32)
    expect(count(() => '127.0.0.1')).toBe(400)
  })

  test('of one that logged in has all of its bound', () => {
    const { gate } = house(100, 8)
    for (let at = 0; at < 8; at++) {
      const made = open(gate, '10.1.1.1')
      expect(made).toBeDefined()
      made?.ticket.prove()
    }
    expect(open(gate, '10.1.1.1')).toBeUndefined()
  })
})

describe('several listeners', () => {
  test('share what there is: none has more than three quarters, and one makes room for another', () => {
    const { admission, gate } = house(1000, 1000, 40)
    const other = admission.gate({ connectionsMax: 1000, perNetworkMax: 1000 })
    for (let net = 0; net < 100; net++) open(gate, address(net))
    expect([gate.size, other.size]).toEqual([15, 0])
    for (let net = 0; net < 100; net++) open(other, address(net))
    expect([gate.size + other.size, admission.strangers]).toEqual([20, 20])
    expect(Math.min(gate.size, other.size)).toBeGreaterThanOrEqual(5)
    for (let at = 0; at < 40; at++) open(other, `10.200.${at}.1`)?.ticket.prove()
    expect(other.size).toBe(30)
    const third = admission.gate({ connectionsMax: 1000, perNetworkMax: 1000 })
    for (let at = 0; at < 20; at++) expect(open(third, `10.201.${at}.1`)).toBeDefined()
    expect(admission.strangers).toBeLessThanOrEqual(20)
    expect(admission.size).toBeLessThanOrEqual(40)
  })

  test('what a closed connection had is free again, however often that is said', () => {
    const { gate } = house(4)
    const made = open(gate, address(1))
    made?.ticket.release()
    made?.ticket.release()
    made?.ticket.prove()
    expect([gate.size, gate.strangers]).toEqual([0, 0])
  })
})

test('half of few descriptors is kept back, and of many a few thousand', () => {
  expect([2, 100, 1024, 20_000, 1_000_000].map(connectionsFor)).toEqual([1, 50, 512, 15_904, 995_904])
  expect(descriptorsMax()).toBeGreaterThan(100)
})
