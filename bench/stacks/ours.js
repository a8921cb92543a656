'use strict'
// Millrace on the files of the packages it succeeds: the same bytes, so that only the code differs.

const { createMillraceStack } = require('../lib/millrace-stack')

module.exports = createMillraceStack({ name: 'ours', label: 'Millrace', order: 10, framing: 'offset32' })
