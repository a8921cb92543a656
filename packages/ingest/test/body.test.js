'use strict'
// How a body arrives: once, whole or not at all, in steps that take turns, and within what requests may hold.

const { PassThrough } = require('node:stream')
const { setImmediate: nextTurn } = require('node:timers/promises')
const zlib = require('node:zlib')
const tape = require('tape')
const { until } = require('@millrace/testkit')
const { STEP_SIZE, receiveBody } = require('../lib/body')
const { MemoryBudget } = require('../lib/memory-budget')
const { Keys } = require('../lib/keys')
const { TURN_SIZE, EventLoopTurns } = require('../lib/event-loop-turns')

const MIB = 2 ** 20

/** Reads nothing, and notes what it was asked to do. */
class Gatherer {
  nextSize = 0
  heldSize = 0
  chunks = []

  write (chunk) {
    this.chunks.push(chunk)
    this.nextSize = chunk.length
  }

  step () {
    this.heldSize += this.nextSize
    this.nextSize = 0
  }

  end () {}

  finish () {
    return Buffer.concat(this.chunks).toString()
  }
}

function createContext (limits = {}) {
  const options = { limits: { bodySize: 10, inflatedSize: 100, ...limits } }
  return { options, turns: new EventLoopTurns(), budget: new MemoryBudget(4 * MIB), keys: new Keys({ file: 'none' }) }
}

async function receive (context, headers, act) {
  const results = []
  const stream = new PassThrough()
  receiveBody({ headers, apiKey: null }, stream, new Gatherer(), context, (err, body, memory) => {
    results.push(err ? err.statusCode : body)
    memory?.release()
  })
  await act(stream)
  await until(() => results.length > 0)
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  return results
}

const chunks = (...list) => (stream) => { for (const chunk of list) stream.write(chunk); stream.end() }
const GZIP = { 'content-encoding': 'gzip' }

tape('body: it arrives once, whole or not at all, whatever its stream does afterwards', async (t) => {
  const context = createContext()
  const one = (headers, act) => receive(context, headers, act)
  t.deepEqual(await one({}, chunks('12345')), ['12345'])
  t.deepEqual(await one({}, chunks('12345', '67890')), ['1234567890'])
  t.deepEqual(await one({}, chunks()), [''])
  t.deepEqual(await one({}, chunks('123456', '78901', '2')), [413])
  t.deepEqual(await one({ 'content-length': '11' }, chunks('1')), [413], 'before any of it is read')
  t.deepEqual(await one({ 'content-encoding': 'br' }, chunks('1')), [415])
  t.deepEqual(await one(GZIP, chunks('1')), [400])
  t.deepEqual(await one({}, (stream) => { stream.write('1'); stream.destroy(new Error('gone')) }), [400])
  context.options.limits.bodySize = 100
  const packed = zlib.gzipSync('text')
  t.deepEqual(await one(GZIP, chunks(packed)), ['text'])
  t.deepEqual(await one(GZIP, chunks(packed.subarray(0, 10))), [400], 'cut off')
  t.deepEqual(await one(GZIP, chunks(zlib.gzipSync(Buffer.alloc(101)))), [413], 'unpacked')
  t.deepEqual(await one(GZIP, (stream) => {
    stream.write(packed.subarray(0, 10))
    stream.destroy(new Error('gone'))
  }), [400], 'failed while it is unpacked')
  const ended = new PassThrough().destroy()
  const results = []
  receiveBody({ headers: {}, apiKey: null }, ended, new Gatherer(), context, (err) => results.push(err?.statusCode))
  t.deepEqual(results, [400], 'gone before it is read')
  t.equal(context.budget.size, 0, 'nothing is held any more')
})

tape('body: what all requests work on in one turn is bounded, in fair turns', async (t) => {
  const context = createContext({ bodySize: 16 * MIB, inflatedSize: 16 * MIB })
  context.budget = new MemoryBudget(64 * MIB)
  const order = []
  await Promise.all(Array.from({ length: 4 }, async (_, index) => {
    await receive(context, {}, chunks(...Array.from({ length: 8 }, () => Buffer.alloc(MIB / 2))))
    order.push(index)
  }))
  t.deepEqual(order.sort(), [0, 1, 2, 3])
  t.ok(context.turns.peakSize <= TURN_SIZE && context.turns.peakSize > TURN_SIZE / 2, `${context.turns.peakSize} bytes`)
  const turns = new EventLoopTurns()
  const steps = []
  const work = (name, left) => {
    if (left === 0) return
    if (turns.take(STEP_SIZE)) steps.push(name)
    else return turns.wait(STEP_SIZE, () => { steps.push(name); work(name, left - 1) })
    work(name, left - 1)
  }
  work('large', 200)
  work('small', 1)
  await until(() => steps.length === 201)
  t.equal(steps.indexOf('small'), TURN_SIZE / STEP_SIZE + 1, 'a small one comes in the next turn')
})

tape('body: more than all requests may hold is refused with 503, and released', async (t) => {
  const context = createContext({ bodySize: 16 * MIB, inflatedSize: 16 * MIB })
  const slow = new PassThrough()
  let first = null
  receiveBody({ headers: {}, apiKey: null }, slow, new Gatherer(), context, (err, body, memory) => {
    first = { err, memory }
  })
  for (let sent = 0; sent < 3 * MIB; sent += STEP_SIZE) slow.write(Buffer.alloc(STEP_SIZE))
  await until(() => context.budget.size === 3 * MIB)
  t.deepEqual(await receive(context, {}, chunks(Buffer.alloc(MIB + 1))), [503])
  t.equal(context.budget.size, 3 * MIB)
  slow.end()
  await until(() => first !== null)
  t.equal(first.err, null)
  first.memory.release()
  first.memory.release()
  t.equal(context.budget.size, 0)
  t.ok(context.budget.peakSize <= 4 * MIB)
})
