'use strict'
// A failure as one line, and back: the same workload, the same crashes, the same look at what they left.

const { CrashPoint, TEAR } = require('@millrace/testkit')
const { checkImage } = require('./check-image')
const { Performance } = require('./perform')
const { describeCall } = require('./stage')
const { Violation } = require('./violation')

const VERSION = 1

/** The line was made with another workload, or by another version. */
class MisfitError extends Error {}

/**
 * @typedef {object} Case
 * @property {import('./workload').Workload} workload
 * @property {import('./explore').Step[]} steps  none when the workload itself fails
 */

/**
 * @param {Case} failing
 * @returns {string}
 */
function toLine ({ workload, steps }) {
  return JSON.stringify({ version: VERSION, workload, steps })
}

/**
 * @param {string} line
 * @returns {Case}
 * @throws {Error} when it is no such line
 */
function fromLine (line) {
  let parsed
  try {
    parsed = JSON.parse(line)
  } catch (err) {
    throw new Error(`not a line that a failure printed: ${/** @type {Error} */ (err).message}`)
  }
  const { version, workload, steps } = parsed ?? {}
  if (version !== VERSION) throw new Error(`expected a line of version ${VERSION}, got ${version}`)
  if (!Array.isArray(workload?.operations) || !Array.isArray(steps)) throw new Error('the line has no workload or no steps')
  return { workload, steps }
}

/**
 * @param {Case} failing
 * @param {object} context
 * @param {any} context.OffsetLog
 * @param {import('./environment').Environment} context.environment
 * @param {import('./guard').Guard} context.guard
 * @param {(line: () => string) => void} [context.trace]
 * @returns {Promise<Violation | null>}  null when all is as promised
 * @throws {MisfitError} when the steps do not fit the workload
 */
async function replay ({ workload, steps }, { OffsetLog, environment, guard, trace = () => {} }) {
  try {
    const performance = new Performance(workload, { OffsetLog, environment, trace })
    await guard.run(() => performance.run())
    if (steps.length > 0) await replaySteps(performance, { workload, steps }, { OffsetLog, environment, guard, trace })
    return null
  } catch (err) {
    if (err instanceof Violation) return err
    throw err
  }
}

/**
 * @param {Performance} performance
 * @param {Case} failing
 * @param {object} context
 * @param {any} context.OffsetLog
 * @param {import('./environment').Environment} context.environment
 * @param {import('./guard').Guard} context.guard
 * @param {(line: () => string) => void} context.trace
 */
async function replaySteps ({ points, ledger }, { workload: { framing }, steps }, context) {
  const { OffsetLog, environment, guard, trace } = context
  const { at: start } = steps[0]
  let moments = points
  let mayKill = true
  for (const [index, { at, how, choice, plan }] of steps.entries()) {
    const moment = moments.find((moment) => moment.at === at)
    if (!moment) throw new MisfitError(`there is no call ${at} to crash at`)
    const disk = crash(moment, how, choice, trace)
    if (how === 'power') mayKill = false
    const expectation = ledger.expect(start, mayKill)
    const isLast = index === steps.length - 1
    if (isLast) traceExpectation(expectation, trace)
    /** @type {Array<{ at: number, disk: any }>} */
    const recovery = []
    const onRecovery = (/** @type {number} */ at) => recovery.push({ at, disk: disk.clone() })
    const check = { OffsetLog, environment, disk, framing, expectation, plan, onRecovery, trace }
    await guard.run(() => checkImage(check))
    moments = /** @type {any[]} */ (recovery)
  }
}

/**
 * @param {{ at: number, call?: any, disk: any, halfWritten?: any }} moment
 * @param {string} how
 * @param {import('./explore').Step['choice']} choice
 * @param {(line: () => string) => void} trace
 */
function crash ({ at, call, disk, halfWritten }, how, choice, trace) {
  trace(() => `${how === 'power' ? 'power cut' : 'process killed'} at ${at}, ${call ? `before ${describeCall(call)}` : 'the end'}`)
  if (how === 'kill') return disk.clone()
  if (how === 'half') {
    if (!halfWritten) throw new MisfitError(`call ${at} is not half written any more`)
    return halfWritten.clone()
  }
  if (!choice) throw new MisfitError('the line does not say what the disk has kept')
  const point = new CrashPoint(disk)
  if (choice.sectors.length !== point.sectors.length || choice.names.length !== point.folders.length ||
    choice.sizes.length !== point.files.length) {
    throw new MisfitError(`the line was made by another version: there are ${point.sectors.length} unsynced sectors now`)
  }
  for (const line of describeChoice(point, choice)) trace(() => line)
  return point.choose(choice).toDisk()
}

/**
 * @param {CrashPoint} point
 * @param {NonNullable<import('./explore').Step['choice']>} choice
 */
function * describeChoice ({ folders, files, sectors }, { names, sizes, sectors: outcomes }) {
  for (const [index, { folder, count }] of folders.entries()) {
    yield `  ${names[index]} of ${count} changes of names in ${folder} are kept`
  }
  for (const [file, { name, sizes: all }] of files.entries()) {
    yield `  ${name}: ${all[sizes[file]]} bytes (of ${all.join(', ')})`
    const described = sectors.map((sector, index) => ({ sector, outcome: outcomes[index] }))
      .filter(({ sector }) => sector.file === file)
      .map(({ sector, outcome }) => {
        const { index, versions } = sector
        const version = versions.length > 1 ? ` version ${outcome % TEAR} of ${versions.length}` : ''
        if (outcome >= TEAR) return `${index} torn${version}`
        return outcome === 0 ? `${index} lost` : `${index} kept${version}`
      })
    if (described.length > 0) yield `    unsynced sectors: ${described.join(', ')}`
  }
}

/**
 * @param {import('./ledger').Expectation} expectation
 * @param {(line: () => string) => void} trace
 */
function traceExpectation ({ commits }, trace) {
  for (const { commit, records, isRequired, isOptional } of commits) {
    const described = records.map(({ record, status }) => {
      return `record ${record.id} (${record.bytes.length} bytes at ${record.seq ?? '?'}, ${status})`
    })
    trace(() => `  ${isRequired ? 'promised' : isOptional ? 'failed' : 'not promised'}: commit ${commit.index}: ${described.join(', ')}`)
  }
}

exports.MisfitError = MisfitError
exports.fromLine = fromLine
exports.replay = replay
exports.toLine = toLine
