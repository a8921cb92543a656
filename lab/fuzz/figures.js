'use strict'
// How many cases there were, what they took, and what was wrong with them.

class Figures {
  /** @param {string} target */
  constructor (target) {
    this.target = target
    this.cases = 0
    this.bytes = 0
    /** The most that a case took, by the measure: beside what a byte may take, and a byte beside the rest. */
    /** @type {Record<string, { most: number, mostPerByte: number, sum: number }>} */
    this.measures = {}
    /** How many violations there were, by kind. @type {Record<string, number>} */
    this.violations = {}
  }

  /**
   * @param {number} size  in bytes
   * @param {Record<string, number>} measures
   */
  add (size, measures) {
    this.cases++
    this.bytes += size
    for (const name in measures) {
      const value = measures[name]
      const all = this.measures[name] ??= { most: 0, mostPerByte: 0, sum: 0 }
      all.sum += value
      if (value > all.most) all.most = value
      if (size >= SIZE_MIN && value > all.mostPerByte * size) all.mostPerByte = value / size
    }
  }

  /**
   * @param {number} size
   * @param {string} kind
   */
  addViolation (size, kind) {
    this.add(size, {})
    this.violations[kind] = (this.violations[kind] ?? 0) + 1
  }

  /** @param {Figures} other  of the same target, perhaps from another thread */
  merge (other) {
    this.cases += other.cases
    this.bytes += other.bytes
    for (const [name, { most, mostPerByte, sum }] of Object.entries(other.measures)) {
      const all = this.measures[name] ??= { most: 0, mostPerByte: 0, sum: 0 }
      all.most = Math.max(all.most, most)
      all.mostPerByte = Math.max(all.mostPerByte, mostPerByte)
      all.sum += sum
    }
    for (const [kind, count] of Object.entries(other.violations)) {
      this.violations[kind] = (this.violations[kind] ?? 0) + count
    }
  }

  get violationCount () {
    return Object.values(this.violations).reduce((sum, count) => sum + count, 0)
  }
}

// What a case takes anyway would count as the work of its few bytes.
const SIZE_MIN = 1024

exports.Figures = Figures
