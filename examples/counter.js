'use strict'
// An event-sourced counter. Nothing is stored but what happened; the value is what that adds up to, and can be had for
// any moment in the past.
// Usage: node counter.js <file> add <n> | value | undo | history

const { OffsetLog } = require('@millrace/offset-log')
const { jsonCodec } = require('@millrace/json-codec')

/** What an event makes of the value before it. */
const handlers = {
  added: (value, { by }) => value + by,
  undone: (value, { by }) => value - by
}

class Counter {
  /** @param {string} file */
  constructor (file) {
    // Whoever was told that the counter counts can rely on it: every event is on stable storage before that.
    this._log = OffsetLog(file, { codec: jsonCodec, fsync: 'always' })
    this._value = 0
  }

  /** Goes through all that happened, and then on with what happens. */
  async open () {
    for await (const event of this._log.stream({ seqs: false })) this._apply(event)
    return this
  }

  get value () {
    return this._value
  }

  /** @param {number} by */
  async add (by) {
    await this._record({ type: 'added', by, at: new Date().toISOString() })
  }

  /** Takes the last addition back: by another event, since what happened has happened. */
  async undo () {
    const additions = this._log.stream({ reverse: true, limit: 1, where: { path: ['type'], equals: 'added' } })
    for await (const { value: { by } } of additions) await this._record({ type: 'undone', by, at: new Date().toISOString() })
  }

  async * history () {
    let value = 0
    for await (const event of this._log.stream({ seqs: false })) {
      value = handlers[event.type](value, event)
      yield { ...event, value }
    }
  }

  close () {
    return this._log.close()
  }

  /** First it is written, then it counts: the other way round a crash could take back what somebody has seen. */
  async _record (event) {
    await this._log.append(event)
    this._apply(event)
  }

  _apply (event) {
    this._value = handlers[event.type](this._value, event)
  }
}

async function main ([file, command, argument]) {
  const commands = {
    add: async (counter) => counter.add(Number(argument)),
    undo: async (counter) => counter.undo(),
    value: async () => {},
    history: async (counter) => {
      for await (const { at, type, by, value } of counter.history()) console.log(`${at} ${type} ${by}: ${value}`)
    }
  }
  if (!file || !commands[command] || (command === 'add' && !Number.isFinite(Number(argument ?? NaN)))) {
    console.error('usage: node counter.js <file> add <n> | value | undo | history')
    process.exitCode = 1
    return
  }
  const counter = await new Counter(file).open()
  await commands[command](counter)
  console.log(counter.value)
  await counter.close()
}

main(process.argv.slice(2)).catch((err) => {
  console.error(`${err.code}: ${err.message}`)
  process.exitCode = 1
})
