// @ts-nocheck
'use strict'
// A client of a live stream, which comes back with the last id that it has, as an EventSource does.

const { setTimeout: sleep } = require('node:timers/promises')
const { isRight } = require('../records')

const RETRY_MS = 10

class LiveClient {
  /** @type {Array<{ seq: number, n: number }>} */
  got = []
  /** The seq after which it has everything. */
  from = null
  #id
  #caller
  #isOver = new AbortController()

  /** @param {boolean} isWhole  from the first record on */
  constructor (life, caller, isWhole) {
    this.life = life
    this.#caller = caller
    this.query = isWhole ? '?gt=-1' : ''
    if (isWhole) this.from = -1
    this.done = this.#run()
  }

  close () {
    this.#isOver.abort()
    return this.done
  }

  async #run () {
    const { signal } = this.#isOver
    while (!signal.aborted) {
      try {
        const headers = { accept: 'text/event-stream', ...this.#id !== undefined && { 'last-event-id': this.#id } }
        const response = await fetch(`${await this.#caller.url()}/v1/logs/events${this.query}`, { headers, signal })
        if (response.status !== 200) await this.life.fault(`live: ${response.status}: ${await response.text()}`)
        let rest = ''
        for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
          const blocks = (rest + part).split('\n\n')
          rest = blocks.pop()
          for (const block of blocks) await this.#take(Object.fromEntries(block.split('\n').map((line) => line.split(/: ?(.*)/s))))
        }
      } catch (err) {
        if (!signal.aborted && !(err instanceof TypeError)) throw err
      }
      await sleep(RETRY_MS)
    }
  }

  async #take ({ event, id, data }) {
    if (id === undefined) return
    this.#id = id
    const seq = Number(id.split('-')[0] || -1)
    this.from ??= data ? seq - 1 : seq
    if (event === 'gone') await this.#lose(seq)
    if (!data) return
    const { seq: told, value } = JSON.parse(data)
    const last = this.got.at(-1)
    if (told !== seq || !isRight(value)) await this.life.fault(`live: ${id} has ${data.slice(0, 200)}`)
    if (seq <= (last?.seq ?? this.from)) await this.life.fault(`live: ${seq} came after ${last?.seq ?? `the begin, ${this.from}`}`)
    this.got.push({ seq, n: value.n })
  }

  /** What comes next is after this seq. */
  async #lose (seq) {
    const { drops, framing } = this.life.setting.http
    if (!drops && framing === 'checked') await this.life.fault(`live: gone at ${seq}, though nothing was dropped, after ${this.got.at(-1)?.seq}`)
    this.got = this.got.filter((one) => one.seq <= seq)
    this.from = Math.min(this.from, seq)
  }

  /** It gets all that the log has. */
  async check () {
    if (this.from === null) return
    const records = (await this.#caller.read('/v1/logs/events?gt=-1')).filter(({ seq }) => seq > this.from)
    const last = records.at(-1)?.seq ?? -1
    while ((this.got.at(-1)?.seq ?? -1) < last) await sleep(RETRY_MS)
    const seen = new Map(this.got.map(({ seq, n }) => [seq, n]))
    const missing = records.filter(({ seq, value: { n } }) => seen.get(seq) !== n)
    if (missing.length > 0) await this.life.fault(`live: ${missing.length} of ${records.length} are missing, from ${missing[0].seq} on; after ${this.from}`)
  }
}

exports.LiveClient = LiveClient
