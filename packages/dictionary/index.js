'use strict'
// A dictionary for the records of a file: texts that repeat are stored once, and records name them by small ids.

const { Dictionary, WORD_COUNT_MAX } = require('./lib/dictionary')
const { maxWordId, packRecord, unpackRecord, withDictionary } = require('./lib/packing')
const { WORDS_RECORD_SIZE_MAX, encodeWords, firstWordId, isWordsRecord, learnWords } = require('./lib/words-record')

exports.WORDS_RECORD_SIZE_MAX = WORDS_RECORD_SIZE_MAX
exports.WORD_COUNT_MAX = WORD_COUNT_MAX
exports.Dictionary = Dictionary
exports.encodeWords = encodeWords
exports.firstWordId = firstWordId
exports.isWordsRecord = isWordsRecord
exports.learnWords = learnWords
exports.maxWordId = maxWordId
exports.packRecord = packRecord
exports.unpackRecord = unpackRecord
exports.withDictionary = withDictionary
