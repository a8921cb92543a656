'use strict'
// What proves that the log is the one that was read up to a seq. A segment is made after those that there are, and has
// the time of that in its name: the one with the seq proves those before it, too. But any program can change a text. So
// each segment of lines counts, unless it is compressed already: nobody edits those.

const { framingOf } = require('./names')

/**
 * @typedef {import('./core').Core} Core
 * @typedef {import('./segments').Segment} Segment
 * @typedef {import('@millrace/offset-log/composing').ProofPart} ProofPart  its seq is that of the segment's file
 * @typedef {import('@millrace/offset-log/composing').Likeness} Likeness
 */

class Proving {
  #core
  /** Of sealed texts. @type {WeakMap<Segment, ProofPart>} */
  #sealed = new WeakMap()

  /** @param {Core} core */
  constructor (core) {
    this.#core = core
  }

  /** @type {Core['proveRecord']} */
  proveRecord (seq) {
    return this.#core.proveRecord(seq)
  }

  /** @type {(seq: number) => Promise<ProofPart[] | null>} */
  async prove (seq) {
    const core = this.#core
    const own = core.segments.find(seq)
    /** @type {ProofPart[]} */
    const parts = []
    for (const segment of core.segments.list) {
      if (segment === own) break
      const part = framingOf(segment.name) === 'lines' ? await this.#proveSealed(segment) : null
      if (part !== null) parts.push(part)
    }
    const last = await core.ask(seq, (source, local) => source.proveUpTo(own.name, local))
    return last && [...parts, last]
  }

  /** @type {(segment: Segment) => Promise<ProofPart | null>} */
  async #proveSealed (segment) {
    const known = this.#sealed.get(segment)
    if (known || segment.format !== null) return known ?? null
    const part = await this.#core.ask(segment.base, (source) => source.isEmpty ? null : source.proveUpTo(segment.name))
    if (part !== null) this.#sealed.set(segment, part)
    return part
  }

  /** @type {(parts: ProofPart[]) => Promise<Likeness>} */
  async compare (parts) {
    const { segments } = this.#core
    const byName = new Map(segments.list.map((segment) => [segment.name, segment]))
    /** @type {Likeness} */
    let likeness = 'unknown'
    for (const [index, part] of parts.entries()) {
      const segment = byName.get(part[0])
      const found = segment && await this.#core.ask(segment.base, (source) => source.compare(part))
      if (found === 'other') return found
      likeness = found ?? 'unknown'
      // It proves what is read from now on: a text that is opened again may have been changed meanwhile.
      const isWhole = index < parts.length - 1
      if (segment && found === 'same' && isWhole && framingOf(segment.name) === 'lines') this.#sealed.set(segment, part)
    }
    // The last part is that of the seq. Its segment was dropped, or never was in this log.
    const [name] = parts[parts.length - 1]
    return byName.has(name) || Number.parseInt(name, 10) < segments.first.base ? likeness : 'other'
  }
}

exports.Proving = Proving
