// @ts-nocheck
'use strict'
// What the writers of a box have told: so it says what may be in the log, and what must be.

class Model {
  constructor ({ drops }) {
    this.drops = drops
    /** The numbers of what was acknowledged, by seq. @type {Map<number, number>} */
    this.acked = new Map()
    /** @type {Set<number>} */
    this.deleting = new Set()
    this.deleted = new Set()
    this.dropping = -1
    this.http = { acked: [], refused: new Set() }
  }

  hear ({ appended = [], deleting = [], deleted = [], dropping = -1, http }) {
    for (const [n, seq] of appended) this.acked.set(seq, n)
    for (const seq of deleting) this.deleting.add(seq)
    for (const seq of deleted) this.deleted.add(seq)
    if (http?.acked) this.http.acked.push({ ns: http.acked, last: http.last })
    for (const n of http?.refused ?? []) this.http.refused.add(n)
    this.dropping = Math.max(this.dropping, dropping)
  }

  /** Whether retention may have taken it. */
  mayBeDropped (seq) {
    return this.drops === 'before' ? seq < this.dropping : this.drops !== 'none'
  }

  /** @returns what is wrong with what somebody has found at a seq; null if nothing is */
  judge ({ seq, n, code, message }, wasDeleted = this.deleted.has(seq)) {
    const expected = this.acked.get(seq)
    if (code === 'ERR_LOG_SEQ_RETAINED' && this.mayBeDropped(seq)) return null
    if (code === 'flumelog:deleted' && this.deleting.has(seq)) return null
    if (n === expected && !wasDeleted) return null
    return `${seq} is ${n ?? `${code}: ${message}`}, not ${expected}${this.deleting.has(seq) ? ', or deleted' : ''}${wasDeleted ? ', surely deleted' : ''}`
  }

  /** @returns {string[]} what is wrong with all that a log at rest has */
  judgeAll (entries) {
    const found = new Map(entries.map(({ seq, n }) => [seq, n]))
    const faults = []
    for (const [seq, n] of this.acked) {
      const isGone = this.deleting.has(seq) || this.mayBeDropped(seq)
      if (found.get(seq) !== n && !(isGone && !found.has(seq))) faults.push(`${seq} is ${found.get(seq)}, though ${n} was acknowledged`)
      if (found.has(seq) && this.deleted.has(seq)) faults.push(`${seq} is there, though it was deleted`)
    }
    return faults
  }

  /** @returns {string[]} what is wrong with all that the server has */
  judgeServed (records, { drops }) {
    const found = new Map(records.map(({ seq, n }) => [n, seq]))
    const first = records[0]?.seq ?? Infinity
    const faults = []
    if (found.size < records.length) faults.push(`the server has ${records.length - found.size} records twice`)
    for (const { ns, last } of this.http.acked) {
      if (drops && last < first) continue
      const lost = ns.filter((n) => !found.has(n))
      if (lost.length > 0 && !(drops && found.has(ns.at(-1)))) faults.push(`the server lacks ${lost} of ${ns}, acknowledged at ${last}`)
      else if (found.get(ns.at(-1)) !== last) faults.push(`${ns.at(-1)} is at ${found.get(ns.at(-1))}, not ${last}`)
    }
    for (const n of this.http.refused) if (found.has(n)) faults.push(`${n} was refused, and is there at ${found.get(n)}`)
    return faults
  }

  /** As it is now, for when a copy of the log that is made now comes back. */
  copy () {
    return Object.assign(new Model(this), structuredClone({ ...this }))
  }
}

exports.Model = Model
