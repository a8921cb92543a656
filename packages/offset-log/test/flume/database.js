// @ts-nocheck
'use strict'
// A flumedb on a log, with a reduced view and an index, and the question whether these agree with the log.

const fs = require('node:fs')
const path = require('node:path')
const { setTimeout: sleep } = require('node:timers/promises')
const { promisify } = require('node:util')
const Flume = require('flumedb')
const Index = require('flumeview-level')
const Reduce = require('flumeview-reduce')
const pull = require('pull-stream')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('../..')

const SETTLE_MS = 5000
const CLEAR_MS = 10_000

/** What flumedb offers, with promises. */
class FlumeDatabase {
  /**
   * @param {string} file
   * @param {object} [options]  of the log
   * @param {string[]} [views]
   */
  constructor (file, options = {}, views = ['sum', 'index']) {
    // LevelDB makes its own folder only.
    fs.mkdirSync(path.dirname(file), { recursive: true })
    this.log = OffsetLog(file, { codec: jsonCodec, ...options })
    this.views = views
    this.db = Flume(this.log)
    if (views.includes('sum')) this.db.use('sum', Reduce(1, (total, { n }) => total + n, null, null, 0))
    if (views.includes('index')) this.db.use('index', Index(1, ({ n }) => [`key ${n}`]))
  }

  append (value) { return call(this.db, 'append', value) }
  get (seq) { return call(this.db, 'get', seq) }
  del (seqs) { return call(this.db, 'del', seqs) }
  sum () { return call(this.db.sum, 'get', {}) }
  find (key) { return call(this.db.index, 'get', key) }
  rebuild () { return call(this.db, 'rebuild') }
  close () { return call(this.db, 'close') }

  /** A view that was ahead of the log answers from its old state until flumedb has noticed and built it again. */
  async settled () {
    const { db, views } = this
    const isAtEnd = (name) => db[name].since.value === db.since.value
    const isSettled = () => db.since.value !== undefined && views.every(isAtEnd)
    for (let ms = 0; !isSettled(); ms++) {
      if (ms > SETTLE_MS) throw new Error(`the log is at ${db.since.value}, ${views.map((name) => db[name].since.value)}`)
      await sleep(1)
    }
  }

  /** @returns {Promise<string | null>}  what is wrong with a view, and stays so */
  async findFault () {
    await this.settled()
    // An index that is built again says that it is empty before it is.
    for (let left = CLEAR_MS; await this._compare() !== null && left > 0; left -= 10) await sleep(10)
    return this._compare()
  }

  /** An index that is being built again has keys of records that the power took. @returns {Promise<string | null>} */
  async _compare () {
    try {
      return await this._findDifference()
    } catch (err) {
      return `a view fails: ${err.message}`
    }
  }

  /** @returns {Promise<string | null>} */
  async _findDifference () {
    const records = await collect(this.log.stream())
    if (this.views.includes('sum')) {
      const total = records.reduce((sum, { value: { n } }) => sum + n, 0)
      const sum = await this.sum()
      if (sum !== total) return `the sum is ${sum}, of the log ${total}`
    }
    if (!this.views.includes('index')) return null
    const expected = records.map(({ seq, value }) => ({ key: `key ${value.n}`, seq, value }))
    expected.sort((a, b) => a.key < b.key ? -1 : 1)
    const entries = await collect(this.db.index.read({ values: false }))
    const found = await collect(this.db.index.read({}))
    const keys = (list) => list.map(({ key, seq }) => `${key} at ${seq}`).join()
    if (keys(entries) !== keys(expected)) return `the index has ${keys(entries)}, not ${keys(expected)}`
    return JSON.stringify(found) === JSON.stringify(expected) ? null : `the index finds ${JSON.stringify(found)}`
  }
}

const call = (target, name, ...args) => promisify(target[name])(...args)

/** @returns {Promise<any[]>} */
function collect (source) {
  return new Promise((resolve, reject) => {
    pull(source, pull.collect((err, items) => err ? reject(err) : resolve(items)))
  })
}

exports.FlumeDatabase = FlumeDatabase
exports.collect = collect
