'use strict'
// repair: makes a new log of all that is good in a damaged one, and says what is lost. It never changes the damaged
// one, and it writes nothing at all unless it is told to.

const { resolvePath } = require('@millrace/block-file')
const { callbackOrPromise } = require('@millrace/flow')
const { examine } = require('./salvage/examine')
const { checkPath, parseOptions } = require('./salvage/options')
const { openSource } = require('./salvage/source')
const { writeRepaired } = require('./salvage/write-repaired')

/**
 * @template T
 * @typedef {import('@millrace/flow').Callback<T>} Callback
 */

/**
 * @typedef {object} RepairParts  what the report of `repair` says besides that of `verify`
 * @property {string} out  path of the new log
 * @property {boolean} isDryRun  whether it was only found out what would be done
 * @property {number} recovered  how many records are in the new log
 * @property {number} recoveredFromDamage  how many of them no reader of the damaged log gets at
 * @property {import('./salvage/damage-list').DamagedRange[]} lost  the first of the ranges that records were lost in
 * @property {number} lostCount  how many there are
 * @property {number} lostSize  their bytes
 * @property {boolean} keepsSeqs  whether every record has the seq that it had
 * @typedef {import('./salvage/examine').Report & RepairParts} RepairReport
 */

/**
 * @template T
 * @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback
 */

/** @typedef {import('./salvage/options').SalvageOptions} RepairOptions */

/**
 * Makes a new log of all that is good in a damaged one, and says what is lost. It never changes the damaged one, and
 * writes nothing at all without the option `write`.
 * @overload
 * @param {string} path
 * @param {string} out  where the new log goes; nothing may be there
 * @param {RepairOptions} [options]
 * @returns {Promise<RepairReport>}
 */
/**
 * @overload
 * @param {string} path
 * @param {string} out
 * @param {NodeCallback<RepairReport>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string} path
 * @param {string} out
 * @param {RepairOptions | undefined} options
 * @param {NodeCallback<RepairReport>} cb
 * @returns {void}
 */
/**
 * @param {string} path
 * @param {string} out  where the new log goes; nothing may be there
 * @param {RepairOptions | NodeCallback<RepairReport>} [options]
 * @param {NodeCallback<RepairReport>} [cb]  EEXIST when there is something at `out`
 * @returns {any}  a promise of the report, when there is no callback
 */
function repair (path, out, options = {}, cb) {
  if (typeof options === 'function') return repair(path, out, {}, options)
  return callbackOrPromise(cb, (cb) => {
    /** @type {ReturnType<typeof parseOptions>} */
    let parsed
    try {
      checkPath('repair', 'the path of a log', path)
      checkPath('repair', 'the path of the new log', out)
      parsed = parseOptions('repair', options)
    } catch (err) {
      return process.nextTick(cb, /** @type {Error} */ (err))
    }
    const target = resolvePath(out, parsed.storage)
    openSource(path, parsed, (err, source) => {
      if (err || !source) return cb(err)
      const run = parsed.write ? writeRepaired.bind(null, target) : examineOnly
      run(source, parsed, (err, examination) => {
        source.blocks.close((closeError) => {
          if (err || closeError || !examination) return cb(err ?? closeError)
          cb(null, describe(examination, out, !parsed.write))
        })
      })
    })
  }, 'repair')
}

/**
 * @param {import('./salvage/source').LogSource} source
 * @param {ReturnType<typeof parseOptions>} options
 * @param {Callback<import('./salvage/examine').Examination>} cb
 */
function examineOnly (source, options, cb) {
  examine(source, options, null, cb)
}

/**
 * @param {import('./salvage/examine').Examination} examination
 * @param {string} out
 * @param {boolean} isDryRun
 * @returns {RepairReport}
 */
function describe ({ report, lost }, out, isDryRun) {
  return {
    ...report,
    out,
    isDryRun,
    recovered: report.records,
    recoveredFromDamage: report.mendable,
    lost: lost.ranges,
    lostCount: lost.count,
    lostSize: lost.size,
    keepsSeqs: true
  }
}

exports.repair = repair
