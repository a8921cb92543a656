'use strict'
// The shapes of what is measured as a log grows. Types only.

/** @typedef {import('@millrace/offset-log').FramingName} FramingName */

/**
 * One log at one size, once.
 * @typedef {object} Measurement
 * @property {FramingName} framing
 * @property {number} wanted  bytes: the size that was asked for
 * @property {number} size  bytes of the file
 * @property {number} records
 * @property {number} run  from 1
 * @property {number} scanMs
 * @property {number} openMs
 * @property {number} peakMemory  bytes, of the process that scans
 */

/**
 * @typedef {object} Point
 * @property {FramingName} framing
 * @property {number} wanted  bytes
 * @property {number} size  bytes
 * @property {number} records
 * @property {number} ns  of a record in a scan, median
 * @property {number} openMs  median
 * @property {number} memory  bytes, median
 */

module.exports = {}
