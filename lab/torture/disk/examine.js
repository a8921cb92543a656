'use strict'
// Opens the log that a crash has left on a mounted disk, compares it with what it may have, goes on with it, closes and
// opens it again, and looks for what is left over beside it.

const fs = require('node:fs')
const path = require('node:path')
const { checkGet, checkObservables, checkSame, goOn, goneRecords, readAll } = require('../check-image')
const { compare } = require('../compare')
const { checkNowhere } = require('../erased')
const { FRAMINGS } = require('../framings')
const { pickWeighted, seededRandom } = require('../seeded')
const { Violation } = require('../violation')

// What may lie beside a log that is closed: what the file system has, what the sessions make, and bytes that recovery
// has cut and keeps.
const BESIDE = /^(lost\+found|neighbour|other|log|log\.sums|log\.cut-\d+(-\d+)?)$/
const CACHE_SIZE = 256 * 1024
/** @type {Array<[number, string]>} */
const FSYNC_WEIGHTS = [[4, 'interval'], [1, 'always'], [3, 'never']]

/**
 * @param {import('./history').SubjectState} state
 * @param {import('../framings').FramingName} [name]  of the framing
 * @returns {Promise<{ hasRecovered: boolean }>}
 * @throws {Violation}
 */
async function examineLog ({ root, file, logModule, story, at, seed }, name = 'checked') {
  const framing = FRAMINGS[name]
  const random = seededRandom(...seed)
  const expectation = story.ledgerAt(at).expect(at, false)
  const offsetLog = { ...require(logModule), ...require(require.resolve('@millrace/repair', { paths: [logModule] })) }
  const open = (/** @type {object} */ options) => openLog(offsetLog, file, { ...framing.options, ...options })
  // A reader of lines sees holes that only the next writer cuts.
  if (random(4) === 0 && name === 'checked') await readOnly(open, file, expectation)
  const files = new RealFiles()
  // Opening may also finish writing the end anew, from a copy.
  const before = fs.existsSync(file) && !fs.existsSync(`${file}.tail`) ? fs.readFileSync(file) : null
  const log = await open({ fsync: pickWeighted(random, FSYNC_WEIGHTS) })
  try {
    const hasRecovered = log.recovery !== null
    const found = await readAll(log)
    framing.checkOpening(before, files, file, log.recovery)
    const matched = compare(expectation, found)
    framing.checkFile(files, file, found)
    checkObservables(log, found)
    await checkGet(log, found, random)
    if (random(6) === 0 && framing.canDelete) await compact(log)
    const after = await goOn(log, framing, { found, expectation }, random, () => {})
    checkNowhere(() => filesIn(root), goneRecords(expectation, matched))
    framing.checkFile(files, file, after)
    await checkAgain(open, after)
    checkBeside(root)
    if (name === 'checked') await checkSound(offsetLog, file)
    return { hasRecovered }
  } finally {
    await log.close().catch(() => {})
  }
}

/** The files that are there, as a simulated disk shows its files. */
class RealFiles {
  /** @param {string} file */
  has (file) {
    return fs.existsSync(file)
  }

  /** @param {string} file */
  read (file) {
    return fs.readFileSync(file)
  }
}

/**
 * @param {any} offsetLog
 * @param {string} file
 * @param {object} options
 */
async function openLog ({ OffsetLog }, file, options) {
  const log = OffsetLog(file, { cache: CACHE_SIZE, ...options })
  try {
    await log.ready()
  } catch (err) {
    await log.close().catch(() => {})
    throw new Violation('refused', `the log cannot be opened: ${/** @type {Error} */ (err).stack}`)
  }
  if (!log.recovery?.damage?.length) return log
  await log.close().catch(() => {})
  throw new Violation('refused', `damage is seen: ${JSON.stringify(log.recovery)}`)
}

/**
 * @param {(options: object) => Promise<any>} open
 * @param {string} file
 * @param {import('../ledger').Expectation} expectation
 */
async function readOnly (open, file, expectation) {
  // Without a file there is nothing to read, and while a copy of the end is there only the next writer can restore it.
  if (!fs.existsSync(file) || fs.statSync(file).size === 0 || fs.existsSync(`${file}.tail`)) return
  const log = await open({ flags: 'r' })
  try {
    compare(expectation, await readAll(log))
  } catch (err) {
    if (err instanceof Violation) err.message = `to a reader: ${err.message}`
    throw err
  } finally {
    await log.close()
  }
}

/** @param {any} log */
async function compact (log) {
  await log.compact().catch((/** @type {Error} */ err) => { throw new Violation('refused', `the log cannot be compacted: ${err.stack}`) })
}

/**
 * @param {(options: object) => Promise<any>} open
 * @param {import('../compare').Found[]} expected
 */
async function checkAgain (open, expected) {
  const log = await open({ fsync: 'interval' })
  try {
    const found = await readAll(log)
    checkSame(found, expected)
    checkObservables(log, found)
  } finally {
    await log.close()
  }
}

/**
 * @param {any} offsetLog
 * @param {string} file
 */
async function checkSound ({ verify }, file) {
  const { isSound, damage } = await verify(file)
  if (!isSound) throw new Violation('wrong answer', `verify finds damage in a log that was closed: ${JSON.stringify(damage)}`)
}

/** @param {string} root */
function checkBeside (root) {
  const others = fs.readdirSync(root).filter((name) => !BESIDE.test(name))
  if (others.length > 0) throw new Violation('left over', `beside a closed log there is ${others.join(', ')}`)
}

/**
 * Without what recovery has cut: where the file system could not write, it may show what its blocks were before, and
 * these may have been the log's.
 * @param {string} root
 */
function filesIn (root) {
  const names = fs.readdirSync(root).filter((name) => !name.includes('.cut-'))
  const files = names.map((name) => path.join(root, name)).filter((file) => fs.statSync(file).isFile())
  return files.map((where) => ({ where, bytes: fs.readFileSync(where) }))
}

exports.filesIn = filesIn
exports.examineLog = examineLog
