'use strict'

const tape = require('tape')
const fc = require('fast-check')
const { testCodec } = require('@millrace/testkit')
const { binaryCodec, canonicalCodec, rawCodec } = require('..')

/** All that a record can hold, but for the invalid Date: some versions of Node.js say that it does not equal itself. */
const anything = fc.anything({ withBigInt: true, withTypedArray: true })
const values = fc.oneof(anything, fc.array(fc.oneof(anything, fc.date({ noInvalidDate: true })), { maxLength: 4 }))

testCodec(tape, binaryCodec)
testCodec(tape, binaryCodec, { name: 'binary, of all kinds', values, unencodable: new Map(), runs: 500 })
testCodec(tape, canonicalCodec, { name: 'canonical', values, unencodable: [new Error('x')], runs: 500 })
testCodec(tape, rawCodec, { values: fc.uint8Array().map((bytes) => Buffer.from(bytes)) })
