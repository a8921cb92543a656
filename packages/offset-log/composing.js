'use strict'
// What a log that is not one file is made with, and what proves the place of a reader: for the other packages of this
// version. No promise to anybody else.

const { countPages, createFileHeader, encodeHead, sumPosition, tableEnd } = require('@millrace/framing')
const { BackPressure } = require('./lib/commit')
const { BaseLog, sizeOf } = require('./lib/base-log')
const { RecordCodec } = require('./lib/codec')
const { composeFile } = require('./lib/composed-file')
const errors = require('./lib/errors')
const { createNewFile, openFixed, openNew } = require('./lib/offset-log')
const { sinkOf, sourceOf } = require('./lib/one-file')
const { parseAppend, parseFlush, parseOptions } = require('./lib/options')
const { findDoubt, judgeRecord, provePlace, proveRecord, readPoints } = require('./lib/proof')
const { peekId } = require('./lib/recover/identify')
const { RecordRun } = require('./lib/record-run')
const { createFailedSource, createSource } = require('./lib/source')

/**
 * @typedef {import('./lib/base-log').Work} Work
 * @typedef {import('./lib/composed-file').ComposedFile} ComposedFile
 * @typedef {import('./lib/load').LogFile} LogFile
 * @typedef {import('./lib/load').Reader} Reader
 * @typedef {import('./lib/load').OpenRange} OpenRange
 * @typedef {import('./lib/index-seam').Indexing} Indexing
 * @typedef {ReturnType<typeof sourceOf>} Source
 * @typedef {ReturnType<typeof sinkOf>} Sink
 * @typedef {import('./lib/range').Range} Range
 * @typedef {import('./lib/read/prove-record').Likeness} Likeness
 * @typedef {import('./lib/read/prove-record').Proof} Proof
 * @typedef {import('./lib/read/prove-record').ProofPart} ProofPart
 * @typedef {import('./lib/proof').Place} Place
 * @typedef {import('./lib/proof').Point} Point
 * @typedef {import('./lib/proof').Verdict} Verdict
 */

exports.BackPressure = BackPressure
exports.BaseLog = BaseLog
exports.sizeOf = sizeOf
exports.RecordCodec = RecordCodec
exports.RecordRun = RecordRun
exports.errors = errors
/** Throws if it is no index. @type {typeof import('./lib/index-seam').checkIndex} */
exports.checkIndex = (call, index) => require('./lib/index-seam').checkIndex(call, index)
/** The bytes of a log without records. @type {(codec: string, id: Buffer | null) => Buffer} */
exports.encodeEmpty = (codec, id) => encodeHead(createFileHeader(codec, id))
/** How large the file beside a log of lines is that has so many bytes. @type {(size: number) => number} */
exports.sumsSizeOf = (size) => tableEnd(sumPosition(countPages(size)))
exports.createNewFile = createNewFile
exports.openFixed = openFixed
exports.openNew = openNew
/** Throws for what a log of one file would refuse. @type {(options: Record<string, unknown>) => void} */
exports.checkFileOptions = (options) => { parseOptions(options) }
exports.parseAppend = parseAppend
exports.parseFlush = parseFlush
exports.peekId = peekId
exports.findDoubt = findDoubt
exports.judgeRecord = judgeRecord
exports.provePlace = provePlace
exports.proveRecord = proveRecord
exports.readPoints = readPoints
exports.sinkOf = sinkOf
exports.sourceOf = sourceOf
exports.createFailedSource = createFailedSource
exports.createSource = createSource
exports.composeFile = composeFile
