'use strict'

const tape = require('tape')
const fc = require('fast-check')
const { testCodec } = require('@millrace/testkit')
const { binaryCodec, rawCodec } = require('..')

testCodec(tape, binaryCodec)
testCodec(tape, rawCodec, { values: fc.uint8Array().map((bytes) => Buffer.from(bytes)) })
