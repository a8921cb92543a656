// @ts-nocheck
'use strict'
// Opens what is in a folder as the next program does, and compares all that stands around the log with what is in it.

const fs = require('node:fs')
const path = require('node:path')
const { verify } = require('@millrace/repair')
const { collect } = require('@millrace/testkit')
const { FILES, beginForwarder, isSent, listing, noteSent, openLog, pathOf } = require('./setting')

const SEGMENT = '\\d{16}-\\d{8}T\\d{9}Z\\.(log|jsonl)'
const OF_SEGMENT = '(\\.gz|\\.sums|\\.cut-\\d+|\\.kept-\\d{8}T\\d{9}Z)?'
const RUNS = 'index(/[^.]*(\\.run)?)?'
/** What may lie in a folder at rest. */
const USUAL = {
  file: (name) => new RegExp(`^${name.replace('.', '\\.')}(\\.sums|\\.${RUNS}|\\.list\\.view|\\.send\\.cursor|\\.cut-\\d+)?$`),
  folder: new RegExp(`^a(\\.list\\.view|\\.send\\.cursor|/(${SEGMENT}${OF_SEGMENT}|writer|times|${RUNS}|[\\w-]+\\.\\d{16}\\.hold))?$`)
}
/** Whoever looks drops nothing. */
const UNBOUNDED = { maxCount: undefined, maxSize: undefined, keep: undefined }

/**
 * @param {{ folder: string, sentFile: string, setting: any, life: any }} given
 * @returns {Promise<any>}  what is wrong, what the log has, and the numbers of its first and last record
 */
async function check ({ folder, sentFile, setting, life }) {
  const log = openLog(folder, setting, { ...life, parts: ['index'] }, UNBOUNDED)
  await log.ready()
  const { recovery } = log
  const entries = []
  let corrupt = null
  try {
    for await (const entry of log.stream()) entries.push(entry)
  } catch (err) {
    if (err.code !== 'ERR_LOG_CORRUPT') throw err
    corrupt = err.message
  }
  const [first = -1, last = -1] = entries.length > 0 ? [entries[0].value.n, entries.at(-1).value.n] : []
  const faults = corrupt !== null
    ? []
    : [
        ...await checkReads(log, entries, setting),
        ...await checkView(log, entries, setting),
        ...await checkSent(log, entries, sentFile)
      ]
  await log.close()
  const isWhole = corrupt === null && (recovery === null || recovery.damage.length + recovery.flaws.length === 0)
  if (isWhole) faults.push(...findLeft(folder, setting), ...await checkFile(folder, setting, entries))
  return { faults, entries, first, last, recovery, corrupt }
}

/** With an index that has still to be built, and with one that is. */
async function checkReads (log, entries, { hasTime }) {
  const faults = []
  const compare = async (options, matches) => {
    const answer = await collect(log.stream({ ...options, values: false }))
    const expected = entries.filter(({ value }) => matches(value)).map(({ seq }) => seq)
    if (String(answer) === String(expected)) return
    const found = `${answer.length} records from ${answer[0]} on, not ${expected.length} from ${expected[0]} on`
    faults.push(`${JSON.stringify(options)} finds ${found}`)
  }
  const { n: last, at } = entries.at(-1)?.value ?? { n: 0, at: '2026-01-01T00:00:00Z' }
  const { at: middle } = entries[entries.length >> 1]?.value ?? { at }
  for (let turn = 0; turn < 2; turn++) {
    await compare({ where: { path: 'k', equals: 3 } }, ({ k }) => k === 3)
    await compare({ where: { path: 'n', gte: last - 20 } }, ({ n }) => n >= last - 20)
    if (turn === 0 && log.recovery === null) await log.index.ready()
  }
  for (const bound of hasTime ? [at, middle] : []) {
    await compare({ time: { gte: bound } }, ({ at }) => at >= bound)
    await compare({ time: { lte: bound } }, ({ at }) => at <= bound)
  }
  return faults
}

async function checkView (log, entries, { drop }) {
  const view = log.view(listing)
  const expected = entries.reduce((state, { value, seq }) => listing.reduce(state, value, seq), listing.initial)
  try {
    const state = await view.get()
    if (JSON.stringify(state) === JSON.stringify(expected)) return []
    // What was dropped stays in it.
    if (drop !== null && state.count >= expected.count && state.last === expected.last) return []
    return [`the view is ${JSON.stringify(state)}, not ${JSON.stringify(expected)}`]
  } catch (err) {
    if (err.code !== 'ERR_VIEW_STALE' || drop === null) return [`the view fails with ${err.code}: ${err.message}`]
    await view.rebuild()
    return []
  }
}

/** Whatever is in the log was sent, some of it more than once. */
async function checkSent (log, entries, sentFile) {
  const reports = []
  const send = async (records) => noteSent(sentFile, records)
  const forwarder = beginForwarder(log, send, (report) => reports.push(report))
  await forwarder.drained()
  await forwarder.close()
  const wasSent = isSent(sentFile)
  const missing = entries.filter(({ value }) => !wasSent(value))
  if (missing.length === 0) return []
  const told = JSON.stringify(reports)
  return [`${missing.length} records were not sent, from ${missing[0].value.n} to ${missing.at(-1).value.n}: ${told}`]
}

/** What nobody removes. */
function findLeft (folder, setting) {
  const usual = setting.isFolder ? USUAL.folder : USUAL.file(FILES[setting.kind])
  const names = fs.readdirSync(folder, { recursive: true }).map((name) => name.split(path.sep).join('/'))
  const odd = names.filter((name) => !usual.test(name))
  return odd.length === 0 ? [] : [`left: ${odd}`]
}

async function checkFile (folder, setting, entries) {
  if (setting.isFolder) return []
  const { isIntact, ...report } = await verify(pathOf(folder, setting))
  if (isIntact === false) return [`verify finds ${JSON.stringify(report).slice(0, 300)}`]
  const reader = openLog(folder, setting, { parts: [] }, { flags: 'r' })
  const count = await reader.count()
  await reader.close()
  return count === entries.length ? [] : [`a reader finds ${count} records, not ${entries.length}`]
}

exports.check = check
