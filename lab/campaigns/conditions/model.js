// @ts-nocheck
'use strict'
// The slow, obvious truth about appends with conditions: which records a filter matches, and what each answer must be.
// It shares no code with the log.

/**
 * A call of `append`. Times count up.
 * @typedef {object} Call
 * @property {number} id  each of its records has it
 * @property {number} count  of its records
 * @property {any[]} values
 * @property {any} where  null without a condition
 * @property {number} since
 * @property {number} calledAt
 * @property {number} answeredAt
 * @property {number[] | null} seqs  if it was accepted
 * @property {any} [err]  if it was not
 */

/** Whether a record matches. @param {any} filter  as of `append` @param {any} value */
function isMatch (filter, value) {
  if (Array.isArray(filter)) return filter.every((part) => isMatch(part, value))
  if (filter.any) return filter.any.some((part) => isMatch(part, value))
  if (filter.all) return filter.all.every((part) => isMatch(part, value))
  if (filter.not) return !isMatch(filter.not, value)
  const found = filter.path === '' ? value : value?.[filter.path]
  if ('equals' in filter) return found === filter.equals
  if ('in' in filter) return filter.in.includes(found)
  if ('prefix' in filter) return typeof found === 'string' && found.startsWith(filter.prefix)
  if ('includes' in filter) return Array.isArray(found) && found.some((element) => isElement(filter.includes, element))
  const bounds = Object.keys(filter).filter((name) => name !== 'path')
  return typeof found === 'number' && bounds.every((name) => compare[name](found, filter[name]))
}

const compare = {
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b
}

const isElement = (wanted, element) => {
  return wanted !== null && typeof wanted === 'object' ? isMatch(wanted, element) : element === wanted
}

/**
 * @param {object} told
 * @param {Call[]} told.calls
 * @param {Map<number, { calledAt: number, answeredAt: number, value: any }>} told.deleted  by seq
 * @param {Map<number, any>} told.dropped  by seq: values of records that retention has dropped
 * @param {Map<number, any>} found  by seq: what is in the log
 * @returns {string[]}  what is wrong
 */
function judge ({ calls, deleted, dropped = new Map() }, found) {
  const faults = []
  const all = new Map([...found, ...dropped, ...[...deleted].map(([seq, { value }]) => [seq, value])])
  const callOf = new Map(calls.map((call) => [call.id, call]))
  for (const [seq, { id, n }] of found) {
    const call = callOf.get(id)
    if (call === undefined) faults.push(`${seq} is of no call`)
    else if (call.seqs !== null && call.seqs[n] !== seq) faults.push(`record ${n} of call ${id} is at ${seq}, not ${call.seqs[n]}`)
    else if (call.err?.code === 'ERR_APPEND_CONDITION') faults.push(`call ${id} was refused, and its record is at ${seq}`)
  }
  for (const call of calls) {
    const fault = call.seqs === null ? judgeRefused(call, all, deleted) : judgeAccepted(call, all, deleted, dropped)
    if (fault !== null) faults.push(`call ${call.id}, ${JSON.stringify(call.where)?.slice(0, 300)} since ${call.since}: ${fault}`)
  }
  return faults
}

function judgeAccepted ({ id, count, where, since, calledAt, answeredAt, seqs }, all, deleted, dropped) {
  if (seqs.length !== count) return `${count} records have ${seqs.length} seqs`
  for (const [n, seq] of seqs.entries()) {
    const value = all.get(seq)
    if (value?.id !== id || value.n !== n) return `it has appended ${seq}, where ${JSON.stringify(value)} is`
  }
  if (where === null || count === 0) return null
  for (const [seq, value] of all) {
    // Whether it was seen before it was deleted depends; nobody says when records are dropped.
    const isGone = dropped.has(seq) || (deleted.has(seq) && deleted.get(seq).calledAt < answeredAt)
    if (seq > since && seq < seqs[0] && !isGone && isMatch(where, value)) {
      return `accepted at ${seqs[0]}, but ${seq} matches: ${JSON.stringify(value)}`
    }
  }
  return since > seqs[0] ? `accepted at ${seqs[0]}, called at ${calledAt}` : null
}

function judgeRefused ({ where, since, calledAt, err }, all, deleted) {
  if (err.code !== 'ERR_APPEND_CONDITION') return null
  if (where === null) return 'refused without a condition'
  const { seq } = err
  if (!(seq > since)) return `refused for ${seq}`
  if (!all.has(seq)) return `refused for ${seq}, where nothing is`
  if (!isMatch(where, all.get(seq))) return `refused for ${seq}, which does not match: ${JSON.stringify(all.get(seq))}`
  if (deleted.has(seq) && deleted.get(seq).answeredAt < calledAt) return `refused for ${seq}, which was deleted before`
  return null
}

exports.isMatch = isMatch
exports.judge = judge
