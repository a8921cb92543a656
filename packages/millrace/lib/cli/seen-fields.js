'use strict'
// Which fields of a filter no record has: a filter with a misspelt one lets nothing through, and the user must be
// told. Records are looked at until one has the field, so most fields are seen in the first few.

/** So many records are looked at one by one; only then all of a run are searched. */
const FIRST_COUNT = 8

/**
 * @typedef {import('@millrace/where').Filter} Filter
 * @typedef {import('./log-tests').Test} Test
 * @typedef {{ path: readonly (string | number)[], isSeen: boolean, test: Test, picked: Uint32Array }} Field
 */

class SeenFields {
  /** By their paths as JSON. @type {Map<string, Field>} */
  #fields = new Map()
  #isRead = false

  /**
   * @param {(where: Filter[]) => Test} compile  of the codec
   * @param {(where: Filter[]) => Test} compileAll  what the log compiles its filters with
   * @returns {(where: Filter[]) => Test}  the same, which notes what fields it meets
   */
  watch (compile, compileAll) {
    return (where) => {
      const test = compileAll(where)
      const fields = where.flatMap(listPaths).map((path) => this.#addField(path, compile))
      if (fields.length === 0) return test
      /** @type {Test} */
      const watching = (buf, start, end, seq) => {
        this.#isRead = true
        for (const field of fields) if (!field.isSeen) field.isSeen = field.test(buf, start, end)
        return test(buf, start, end, seq)
      }
      const { select } = test
      if (select === undefined) return watching
      return Object.assign(watching, {
        select: (/** @type {import('@millrace/where').Records} */ records, /** @type {Uint32Array} */ picked) => {
          if (records.count > 0) this.#isRead = true
          for (const field of fields) if (!field.isSeen) field.isSeen = hasField(records, field)
          return select(records, picked)
        }
      })
    }
  }

  /** @type {(path: readonly (string | number)[], compile: (where: Filter[]) => Test) => Field} */
  #addField (path, compile) {
    const name = JSON.stringify(path)
    const known = this.#fields.get(name)
    if (known !== undefined) return known
    const field = { path, isSeen: false, test: compile([{ path, exists: true }]), picked: new Uint32Array(0) }
    this.#fields.set(name, field)
    return field
  }

  /** @returns {string[]}  as they are written; each once */
  takeUnseen () {
    if (!this.#isRead) return []
    const unseen = [...this.#fields.values()].filter(({ isSeen }) => !isSeen)
    for (const field of unseen) field.isSeen = true
    return unseen.map(({ path }) => path.join('.'))
  }
}

/** @type {(records: import('@millrace/where').Records, field: Field) => boolean} */
function hasField (records, field) {
  const { buffer, starts, ends, count } = records
  const { test } = field
  const first = test.select === undefined ? count : Math.min(count, FIRST_COUNT)
  for (let index = 0; index < first; index++) if (test(buffer, starts[index], ends[index])) return true
  if (first === count || test.select === undefined) return false
  if (field.picked.length < count) field.picked = new Uint32Array(starts.length)
  return test.select(records, field.picked) > 0
}

/**
 * Not those that must be absent, and not those within elements.
 * @param {Filter} filter
 * @returns {Array<readonly (string | number)[]>}
 */
function listPaths (filter) {
  if ('not' in filter) return listPaths(filter.not)
  if ('any' in filter) return filter.any.flatMap(listPaths)
  if ('all' in filter) return filter.all.flatMap(listPaths)
  return filter.path.length === 0 || filter.exists === false ? [] : [filter.path]
}

exports.SeenFields = SeenFields
