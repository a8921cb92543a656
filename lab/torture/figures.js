'use strict'
// Counts what was tried and what was found.

const { SeenImages } = require('./seen-images')
const { KINDS } = require('./violation')

class Figures {
  constructor () {
    this.workloads = 0
    this.images = 0
    this.nestedImages = 0
    this.distinct = 0
    this.distinctNested = 0
    this.recovered = 0
    /** @type {Record<string, { workloads: number, images: number }>} by fsync mode of the first session */
    this.modes = {}
    this.violations = Object.fromEntries(KINDS.map((kind) => [kind, 0]))
    this._seen = new SeenImages()
    this._mode = { workloads: 0, images: 0 }
  }

  /** @param {string} fsync */
  beginWorkload (fsync) {
    this.workloads++
    this._mode = this.modes[fsync] ??= { workloads: 0, images: 0 }
    this._mode.workloads++
  }

  /**
   * @param {number} hash
   * @param {boolean} isNested
   */
  countImage (hash, isNested) {
    this.images++
    this._mode.images++
    if (isNested) this.nestedImages++
    if (!this._seen.add(hash)) return
    this.distinct++
    if (isNested) this.distinctNested++
  }

  /** @returns {any}  all of it, to be sent to another thread */
  toMessage () {
    const { workloads, images, nestedImages, distinct, distinctNested, recovered, modes, violations } = this
    const hashes = this._seen.toArray()
    return { workloads, images, nestedImages, distinct, distinctNested, recovered, modes, violations, hashes }
  }
}

/**
 * @param {Array<ReturnType<Figures['toMessage']>>} parts  of the workers
 * @returns {any}  an image that two of them had counts once
 */
function addFigures (parts) {
  const total = new Figures()
  for (const part of parts) {
    for (const name of /** @type {const} */ (['workloads', 'images', 'nestedImages', 'recovered'])) total[name] += part[name]
    for (const [mode, { workloads, images }] of Object.entries(part.modes)) {
      total.modes[mode] ??= { workloads: 0, images: 0 }
      total.modes[mode].workloads += workloads
      total.modes[mode].images += images
    }
    for (const kind of KINDS) total.violations[kind] += part.violations[kind]
    for (const hash of part.hashes) total._seen.add(hash)
  }
  const { workloads, images, nestedImages, recovered, modes, violations, _seen } = total
  const distinct = _seen.count
  // Images that two workers share are few and nobody knows of which kind: count them as nested ones.
  const shared = parts.reduce((sum, part) => sum + part.distinct, 0) - distinct
  const distinctNested = Math.max(0, parts.reduce((sum, part) => sum + part.distinctNested, 0) - shared)
  return {
    workloads,
    images,
    distinct,
    nestedImages,
    distinctNested,
    recovered,
    modes,
    violations,
    digest: digest(_seen.toArray())
  }
}

/**
 * @param {Float64Array} hashes
 * @returns {string}  the same for the same set of images
 */
function digest (hashes) {
  let low = 0
  let high = 0
  for (const hash of hashes) {
    low = low + hash % 2 ** 32 | 0
    high = high + Math.floor(hash / 2 ** 21) | 0
  }
  return [low, high].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('')
}

exports.Figures = Figures
exports.addFigures = addFigures
