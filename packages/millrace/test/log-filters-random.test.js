'use strict'
// --since, --until and --level on random files, folders of segments, slots and logs of ingest, against what the maker
// of the records knows of each. Shapes are mixed, times are out of order or missing, and clocks jump at random, also
// while segments begin. The command's own functions run in this process.

const fs = require('node:fs')
const path = require('node:path')
const tape = require('tape')
const { jsonCodec } = require('@millrace/json-codec')
const { SlotLog } = require('@millrace/merged-log')
const { OffsetLog } = require('@millrace/offset-log')
const { SegmentedLog } = require('@millrace/segmented-log')
const { createRandom, fakeWallClock, inQuickRuns, temporaryFolder, until } = require('@millrace/testkit')
const { command: cat } = require('../lib/cli/commands/cat')
const { command: count } = require('../lib/cli/commands/count')
const { command: tail } = require('../lib/cli/commands/tail')

const CASES = Number(process.env.CASES ?? inQuickRuns(10_000, 200))
const QUERIES = 4
const NOW = Date.UTC(2026, 10, 26, 12)
const HOUR = 3_600_000
const LEVELS = [['trace', 10], ['debug', 20], ['info', 30], ['warn', 40], ['error', 50], ['fatal', 60]]
const SYSLOG = { trace: 7, debug: 7, info: 6, warn: 4, error: 3, fatal: 2 }
const LETTERS = { trace: 'D2', debug: 'D1', info: 'I', warn: 'W', error: 'E', fatal: 'F' }

const iso = (ms) => new Date(ms).toISOString()
const zoned = (ms) => `${iso(ms + 2 * HOUR).slice(0, -1)}+02:00`

/** Each gets ms and a level, and may say less. @type {Array<(ms: number, name: string, number: number) => object>} */
const SHAPES = [
  (time, name, level) => ({ level, time }),
  (time, name, level) => ({ level, time, pid: 7, hostname: 'h', msg: '"level":60,"time":1' }),
  (time, level) => ({ time: iso(time), level: level.toUpperCase(), name: 'x' }),
  (time, level) => ({ timestamp: iso(time), level, message: 'x' }),
  (ms, level) => ({ level, ts: ms / 1000, msg: 'x' }),
  (ms, level) => ({ level: level === 'warn' ? 'Warning' : level, time: zoned(ms) }),
  (ms, level) => ({ '@timestamp': iso(ms), 'log.level': level.toUpperCase() }),
  (ms, level) => ({ log: `${JSON.stringify({ level, time: 'of the line' })}\n`, stream: 'stderr', time: iso(ms).replace('Z', '456Z') }),
  (ms, level) => ({ severity: level === 'fatal' ? 'EMERGENCY' : level.toUpperCase(), timestamp: iso(ms) }),
  (ms, level) => ({ t: { $date: iso(ms) }, s: LETTERS[level], msg: 'x' }),
  (ms, level) => ({ PRIORITY: String(SYSLOG[level]), __REALTIME_TIMESTAMP: `${ms}000` }),
  (ms, name, level) => ({ timeUnixNano: `${ms}000001`, severityNumber: level / 2.5 - 3, body: 'x' }),
  (ms, level) => ({ asctime: iso(ms).replace('T', ' ').replace('.', ',').slice(0, -1), levelname: level.toUpperCase() }),
  (ms, name, level) => ({ date: ms / 1000, log: 'x', level: String(level) }),
  (ms, name, level) => ({ context: { logLevel: level }, time: ms }),
  // A later member of the same name counts, and an escaped one, too.
  (ms, name, level) => ({ level: 10, $: `"level":${level},"time":${ms}`, time: 1 }),
  (ms, name, level) => ({ level: 60, $: `"l\\u0065vel":${level},"\\u0074ime":${ms}`, time: NOW }),
  (ms) => ({ time: ms, msg: 'no level' }),
  (ms, level) => ({ level, msg: 'no time' }),
  () => ({ msg: 'neither', time: 'soon', level: {} })
]

/** @param {any} record */
function toText ({ $, ...record }) {
  const text = JSON.stringify(record)
  return $ === undefined ? text : `${text.slice(0, -1)},${$}}`
}

/** Takes JSON as it is. */
const textCodec = { ...jsonCodec, encode: (text) => Buffer.from(text) }

/** A clock that mostly goes on, and jumps now and then. */
function createClock (random, clock) {
  return () => {
    switch (random(30)) {
      case 0: return clock.set(NOW - random(400) * 24 * HOUR)
      case 1: return clock.set(NOW + random(4000) * 24 * HOUR)
      case 2: return clock.set(random(20) * HOUR)
      case 3: return clock.set(NOW)
      default: return clock.pass(random(2) === 0 ? 0 : random(HOUR))
    }
  }
}

/** A record, and what is known of it: `ms` and `level`, or null. */
function makeRecord (random, id, nowMs, isOfIngest) {
  const [name, level] = LEVELS[random(LEVELS.length)]
  const isOld = random(4) === 0
  // Whole seconds and ms, so that every shape can say them.
  const ms = Math.max(1e11 + 1e9, isOld ? NOW - random(48) * HOUR : nowMs - random(5000))
  const shape = random(SHAPES.length)
  const record = { ...SHAPES[shape](ms, name, level), id }
  const knows = { level: level === 10 && [10].includes(shape) ? 20 : level, ms }
  if (shape === SHAPES.length - 3) knows.level = null
  if (shape === SHAPES.length - 2) knows.ms = null
  if (shape === SHAPES.length - 1) knows.ms = knows.level = null
  if (shape === 9 && level === 10) knows.level = 20
  if (!isOfIngest) return { id, text: toText(record), ...knows }
  return { id, text: `{"time":${nowMs},"value":${toText(record)}}`, ms: nowMs, level: knows.level }
}

const KINDS = {
  async file (file, records, { clock }) {
    const log = OffsetLog(file, { codec: textCodec, fsync: 'never' })
    for (const text of records(clock)) await log.append(text)
    await log.close()
  },
  async segments (folder, records, { random, clock }) {
    const log = SegmentedLog(folder, { codec: textCodec, fsync: 'never' })
    for (const text of records(clock)) {
      if (random(8) === 0) await log.roll()
      await log.append(text)
    }
    await log.close()
    if (random(5) > 0) return
    const compressing = SegmentedLog(folder, { codec: textCodec, compress: 'gzip' })
    await until(async () => (await compressing.segments()).slice(0, -1).every(({ compressed }) => compressed !== null))
    await compressing.close()
  },
  async slots (folder, records, { random, clock }) {
    const logs = [0, 1, 2].map(() => SlotLog(folder, { codec: textCodec, fsync: 'never' }))
    await Promise.all(logs.map((log) => log.ready()))
    for (const text of records(clock)) {
      const log = logs[random(3)]
      await log.append(text)
    }
    await Promise.all(logs.map((log) => log.close()))
  }
}
KINDS.ingest = KINDS.segments

/** What a command has around it. */
function createShell () {
  const lines = []
  const notes = []
  const shell = {
    isTerminal: false,
    signal: new AbortController().signal,
    write: async (text) => { lines.push(...String(text).trimEnd().split('\n')) },
    print: (line) => lines.push(line),
    complain: (text) => notes.push(text),
    onAbort () {},
    watchOutput () {},
    onInterrupt () {},
    throwIfAborted () {}
  }
  return { shell, lines, notes }
}

async function run (command, file, options) {
  const { shell, lines, notes } = createShell()
  await command.run({ args: { file }, options, shell })
  return { lines, notes: notes.join('') }
}

const byNumber = (a, b) => a - b
const idsOf = (lines) => lines.map((line) => /"id":(\d+)/.exec(line)[1]).map(Number).sort(byNumber)

function makeQuery (random, records) {
  const timed = records.filter(({ ms }) => ms !== null)
  const pick = () => timed.length === 0 ? NOW : timed[random(timed.length)].ms + random(3) - 1
  const words = {}
  if (random(3) > 0) words.since = new Date(pick())
  if (random(3) === 0) words.until = new Date(pick())
  if (random(2) === 0) words.level = LEVELS[random(LEVELS.length)]
  return words
}

/** @type {(query: any, record: any) => { isWanted: boolean, lacks: 'time' | 'level' | null }} */
function judge ({ since, until, level }, { ms, level: own }) {
  const isOfTime = since !== undefined || until !== undefined
  if (isOfTime && ms === null) return { isWanted: false, lacks: 'time' }
  if (isOfTime && (ms < (since ?? -Infinity) || ms >= (until ?? Infinity))) return { isWanted: false, lacks: null }
  if (level !== undefined && own === null) return { isWanted: false, lacks: 'level' }
  return { isWanted: level === undefined || own >= level[1], lacks: null }
}

tape('filters: random logs, read with --since, --until and --level, give what their maker knows', async (t) => {
  const { levelFilter } = require('@millrace/where')
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const clock = fakeWallClock(t, NOW)
  const folder = temporaryFolder()
  const kinds = Object.keys(KINDS)
  let [queries, wrong] = [0, 0]
  for (let index = 0; index < CASES && wrong === 0; index++) {
    const kind = kinds[random(kinds.length)]
    const file = path.join(folder, String(index))
    const tick = createClock(random, clock)
    const records = []
    const size = 1 + random(40)
    const make = function * () {
      for (let id = 0; id < size; id++) {
        tick()
        records.push(makeRecord(random, id, clock.ms, kind === 'ingest'))
        yield records[id].text
      }
    }
    await KINDS[kind](file, make, { random, clock })
    for (let number = 0; number < QUERIES; number++) {
      queries++
      const query = makeQuery(random, records)
      const { level, ...times } = query
      const options = { ...times, ...(level && { level: levelFilter(level[random(2)]) }) }
      const judged = records.map((record) => ({ ...judge(query, record), id: record.id }))
      const wanted = judged.filter(({ isWanted }) => isWanted).map(({ id }) => id)
      const lacking = ['time', 'level'].map((what) => judged.filter(({ lacks }) => lacks === what).length)
      const found = await run(cat, file, { ...options, ...(kind !== 'slots' && random(2) === 0 && { reverse: true }) })
      const counted = await run(count, file, options)
      const last = await run(tail, file, { ...options, lines: size })
      const noted = ['time', 'level'].map((what) => Number(new RegExp(`left out (\\d+) records? without a ${what}`).exec(found.notes)?.[1] ?? 0))
      const got = { cat: idsOf(found.lines), count: Number(counted.lines[0]), tail: idsOf(last.lines), noted }
      const expected = { cat: wanted, count: wanted.length, tail: wanted, noted: lacking }
      if (JSON.stringify(got) === JSON.stringify(expected)) continue
      wrong++
      const missing = wanted.filter((id) => !got.cat.includes(id)).concat(got.cat.filter((id) => !wanted.includes(id)))
      const details = { kind, index, query, missing: missing.map((id) => records[id]) }
      t.deepEqual(got, expected, JSON.stringify(details))
      break
    }
    fs.rmSync(file, { recursive: true, force: true })
    for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name), { recursive: true, force: true })
  }
  t.equal(wrong, 0, `${CASES} logs, ${queries} queries`)
})
