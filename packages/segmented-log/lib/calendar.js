'use strict'
// The calendar day of a moment in a time zone.

const { misuse, reasonOf } = require('@millrace/errors')

const MINUTE_MS = 60_000
const DATE = /** @type {const} */ ({ year: 'numeric', month: '2-digit', day: '2-digit' })

class Calendar {
  #format
  /** The minute of the last answer, and the answer: to ask the system takes microseconds, and days end with minutes. */
  #minute = NaN
  #today = ''

  /** @param {string} timeZone  as in the IANA database  @throws {TypeError} ERR_INVALID_ARGUMENT */
  constructor (timeZone) {
    try {
      if (typeof timeZone !== 'string') throw new TypeError(`expected a text, got ${typeof timeZone}`)
      this.#format = new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', { timeZone, ...DATE })
    } catch (err) {
      throw misuse(`SegmentedLog: segmentDay must be a time zone such as UTC or Europe/Berlin: ${reasonOf(err)}`)
    }
  }

  /** @param {number} ms  since 1970 @returns {string}  the same for two moments of one day, and only for these */
  dayOf (ms) {
    return this.#format.format(ms)
  }

  /** `dayOf` for a time that passes. @param {number} nowMs */
  today (nowMs) {
    const minute = Math.floor(nowMs / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#today = this.dayOf(nowMs)
    }
    return this.#today
  }
}

exports.Calendar = Calendar
