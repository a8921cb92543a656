'use strict'
// Counts what runs, in files and functions, when one record is appended, got or streamed, or a log opened: how
// much of the house a reader has to know to follow a record through it.
// Usage: npm run walk [-- append|get|stream|open]   With a name it lists the functions of that walk, file by file.

const fs = require('node:fs')
const { Session } = require('node:inspector/promises')
const os = require('node:os')
const path = require('node:path')
const { fileURLToPath } = require('node:url')
const { OffsetLog } = require('@millrace/offset-log')

const PACKAGES = path.join(__dirname, '..', 'packages')
// Enough that whatever is loaded or made on first use is there.
const WARM_UP_COUNT = 50
const COVER_COUNT = 8
const DATA = Buffer.from('a record')

/**
 * @typedef {{ files: Map<string, string[]>, fileCount: number, functionCount: number }} Walk  function names by file
 * @typedef {{ file: string, log: ReturnType<typeof OffsetLog>, seq: number }} Setting
 */

/**
 * What is walked; each is run many times before.
 * @type {Record<string, (setting: Setting) => Promise<unknown>>}
 */
const walks = {
  append: ({ log }) => log.append(DATA),
  get: ({ log, seq }) => log.get(seq),
  stream: async ({ log }) => {
    for await (const { value } of log.stream({ limit: 3 })) value.toString()
  },
  open: async ({ file }) => {
    const log = OffsetLog(`${file}-other`, { fsync: 'always' })
    await log.ready()
    return log
  }
}

/**
 * @param {string} name  of a walk
 * @returns {Promise<Walk>}
 */
async function walk (name) {
  // A log that finds calls slow goes through threads, which is another walk. With a clock that stands still, every
  // machine is quick.
  const readClock = performance.now
  performance.now = () => 0
  try {
    return await walkQuickly(name)
  } finally {
    performance.now = readClock
  }
}

/**
 * @param {string} name
 * @returns {Promise<Walk>}
 */
async function walkQuickly (name) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'walk-'))
  const file = path.join(folder, 'log')
  const log = OffsetLog(file, { fsync: 'always' })
  const seq = await log.append(DATA)
  await log.append([DATA, DATA])
  const other = OffsetLog(`${file}-other`)
  await other.append([DATA, DATA])
  await other.close()
  try {
    for (let count = 0; count < WARM_UP_COUNT; count++) await (await run(name, { file, log, seq }))?.close?.()
    const act = async () => {
      const opened = await run(name, { file, log, seq })
      return () => opened?.close?.()
    }
    // What a timer of the log adds is no part of the walk.
    const walks = []
    for (let count = 0; count < COVER_COUNT; count++) walks.push(await cover(act))
    return walks.reduce((least, one) => one.functionCount < least.functionCount ? one : least)
  } finally {
    await log.close()
    fs.rmSync(folder, { recursive: true })
  }
}

/**
 * @param {string} name
 * @param {Setting} setting
 * @returns {Promise<any>}
 */
async function run (name, setting) {
  const result = await walks[name](setting)
  return typeof result === 'object' ? result : null
}

/**
 * @param {() => Promise<() => unknown>} act  gives what is to be done once the count has been taken
 * @returns {Promise<Walk>}
 */
async function cover (act) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  const finish = await act()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()
  await finish()
  const files = new Map()
  for (const { url, functions } of result) {
    if (!url.startsWith('file:')) continue
    const file = path.relative(PACKAGES, fileURLToPath(url))
    const called = functions.filter(({ ranges: [{ count }] }) => count > 0)
    if (file.startsWith('..') || called.length === 0) continue
    files.set(file, called.map(({ functionName }) => functionName || '(anonymous)'))
  }
  const functionCount = [...files.values()].reduce((sum, names) => sum + names.length, 0)
  return { files, fileCount: files.size, functionCount }
}

/** @param {string[]} names */
async function main (names) {
  const unknown = names.find((name) => !Object.hasOwn(walks, name))
  if (unknown !== undefined) {
    console.error(`walk: there is no walk "${unknown}"; there are ${Object.keys(walks).join(', ')}`)
    process.exitCode = 2
    return
  }
  console.log('walk      files  functions')
  for (const name of Object.keys(walks)) {
    if (names.length > 0 && !names.includes(name)) continue
    const { files, fileCount, functionCount } = await walk(name)
    console.log(`${name.padEnd(8)}  ${String(fileCount).padStart(5)}  ${String(functionCount).padStart(9)}`)
    if (names.length === 0) continue
    for (const [file, functions] of [...files].sort()) console.log(`  ${file}: ${functions.join(', ')}`)
  }
}

exports.walk = walk
exports.walkNames = Object.keys(walks)
if (require.main === module) main(process.argv.slice(2))
