'use strict'

const tape = require('tape')
const { testCodec } = require('@millrace/testkit')
const { jsonCodec } = require('..')

testCodec(tape, jsonCodec)
