'use strict'
// A tour of the package, in the order of its README.

const tape = require('tape')
const flow = require('..')

/** What the README builds: it opens after a while. */
class Greeter {
  constructor () {
    this.lifecycle = new flow.Lifecycle((name) => new Error(`${name}: the greeter is closed`))
    setTimeout(() => this.lifecycle.opened(null), 10)
  }

  greet (name, cb) {
    return flow.callbackOrPromise(cb, (cb) => this.lifecycle.run('greet', cb, (cb) => cb(null, `hello ${name}`)), 'greet')
  }

  close () {
    return flow.toPromise((cb) => this.lifecycle.close((cb) => cb(null), cb))
  }
}

tape('tour: a call waits until it is open, and fails once it is closed', async (t) => {
  const greeter = new Greeter()
  t.equal(greeter.lifecycle.isOpen, false)
  t.equal(await greeter.greet('log'), 'hello log')
  await greeter.close()
  t.equal(await greeter.greet('log').catch((err) => err.message), 'greet: the greeter is closed')
})

tape('tour: a method takes a callback, or gives a promise', (t) => {
  const greeter = new Greeter()
  greeter.greet('log', 'no function').catch(({ code }) => t.equal(code, 'ERR_INVALID_ARGUMENT'))
  const nothing = greeter.greet('log', (err, text) => {
    t.deepEqual([err, text], [null, 'hello log'])
    t.end()
  })
  t.equal(nothing, undefined)
})

tape('tour: loops whose stack does not grow', (t) => {
  let left = 100_000
  flow.trampoline((next) => { if (left-- > 0) next() })
  t.equal(left, -1)
  const seen = []
  flow.eachInOrder([1, 2, 3], (item, done) => { seen.push(item); done(item === 2 ? new Error('two') : null) }, (err) => {
    t.equal(err?.message, 'two', 'the first error ends the loop')
    t.deepEqual(seen, [1, 2])
    t.end()
  })
})

tape('tour: actions run one after the other, or a few at the same time', async (t) => {
  const turns = new flow.Turns()
  const seen = []
  const failed = turns.run(async () => { await null; seen.push('first'); throw new Error('one') })
  const second = turns.run(async () => { seen.push('second'); return 2 })
  t.equal(await failed.catch((err) => err.message), 'one')
  t.equal(await second, 2)
  turns.run(async () => { throw new Error('two') }).catch(() => {})
  await turns.settled()
  t.deepEqual(seen, ['first', 'second'], 'a failure does not stop the next one')

  let running = 0
  let most = 0
  const visit = async (item) => {
    most = Math.max(most, ++running)
    await flow.pause(1)
    running--
    if (item === 7) throw new Error('seven')
    seen.push(item)
  }
  await flow.inLanes([1, 2, 3, 4], 2, visit)
  t.deepEqual([most, seen.slice(2)], [2, [1, 2, 3, 4]])
  t.equal(await flow.inLanes([7, 8, 9, 10], 1, visit).catch((err) => err.message), 'seven')
  t.notOk(seen.includes(8), 'nothing begins after a failure')

  const ended = []
  const end = (name) => async () => {
    ended.push(name)
    if (name !== 'last') throw new Error(name)
  }
  t.equal(await flow.endAll([end('one'), end('two'), end('last')]).catch((err) => err.message), 'one')
  t.deepEqual(ended, ['one', 'two', 'last'], 'each step of an end is done')
})

tape('tour: the option signal ends a call', async (t) => {
  t.equal(flow.parseSignal('read', undefined), null)
  t.throws(() => flow.parseSignal('read', 'now'), { code: 'ERR_INVALID_ARGUMENT' })
  const controller = new AbortController()
  const asked = flow.toPromise((cb) => flow.abortable('read', controller.signal, cb, () => {}))
  controller.abort()
  const err = await asked.catch((err) => err)
  t.deepEqual([err.name, err.code], ['AbortError', 'ABORT_ERR'])
})

tape('tour: an observable calls its listeners with each value', (t) => {
  const observable = flow.createObservable()
  const seen = []
  const remove = observable((value) => seen.push(value))
  observable.set(1)
  observable.set(2)
  remove()
  observable.set(3)
  t.deepEqual(seen, [1, 2])
  t.equal(observable.value, 3)
  t.end()
})

tape('tour: a clock that says 1970 is not believed', (t) => {
  const now = Date.now()
  t.ok(flow.isPlausible(now, now))
  t.notOk(flow.isPlausible(0, now))
  t.end()
})

tape('tour: text that a terminal does not obey, and bytes', (t) => {
  t.notOk(flow.escapeControls('\x1b[2J').includes('\x1b'))
  const bytes = Buffer.alloc(8)
  t.ok(flow.isZero(bytes, 0, 8))
  flow.writeUInt53BE(bytes, 2 ** 40 + 7, 0)
  t.equal(flow.readUInt53BE(bytes, 0), 2 ** 40 + 7)
  t.end()
})
