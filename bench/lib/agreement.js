'use strict'
// A time means nothing when the work was not done: stacks that deliver the same thing must say so with equal answers.

const { formatKib } = require('./format')
const { describeCase } = require('./measure')

/** @typedef {import('./shapes').Case} Case */
/** @typedef {import('./shapes').TallyResult} TallyResult */

/** The message says which stacks differ, where and in what. */
class DisagreementError extends Error {}

/**
 * Records and what is in them are the same in every framing; where they lie is not, and neither are the file's bytes.
 * @type {Array<keyof TallyResult>}
 */
const CONTENT_FIELDS = ['records', 'delivered', 'digest']
/** @type {Array<keyof TallyResult>} */
const PLACE_FIELDS = ['seqSum', 'seqDigest']

/** @returns {(one: Case, answer: TallyResult) => void}  throws at the first answer that differs from an earlier one */
function createAgreement () {
  /** @type {Map<string, { one: Case, answer: TallyResult }>} */
  const firsts = new Map()

  return (one, answer) => {
    const framing = one.stack.framing
    // The first 64 MiB of two framings do not end at the same record either.
    const shared = one.layer.delivers === 'records' && !one.prefix
    check(`${toGroup(one)} content ${shared ? '' : framing}`, CONTENT_FIELDS, one, answer)
    check(`${toGroup(one)} places ${framing}`, PLACE_FIELDS, one, answer)
  }

  /**
   * @param {string} group
   * @param {Array<keyof TallyResult>} fields
   * @param {Case} one
   * @param {TallyResult} answer
   */
  function check (group, fields, one, answer) {
    const first = firsts.get(group)
    if (first === undefined) {
      firsts.set(group, { one, answer })
      return
    }
    const differing = fields.filter((field) => first.answer[field] !== answer[field])
    if (differing.length === 0) return
    const details = differing.map((field) => `${field} ${answer[field]} against ${first.answer[field]}`)
    const [name, other] = [`${one.stack.name} (run ${one.run})`, `${first.one.stack.name} (run ${first.one.run})`]
    throw new DisagreementError(`${describeCase(one)}: ${name} does not deliver what ${other} delivered at ` +
      `${formatKib(first.one.blockSize)}: ${details.join(', ')}`)
  }
}

/** @param {Case} one */
function toGroup ({ layer, blockSize, prefix }) {
  return `${layer.name} ${layer.perBlockSize ? blockSize : 'any'} ${prefix ? 'prefix' : 'whole'}`
}

exports.DisagreementError = DisagreementError
exports.createAgreement = createAgreement
