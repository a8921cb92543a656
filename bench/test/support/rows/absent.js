'use strict'
// Needs a package that nobody has.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({ name: 'absent', order: 40, needs: { 'no-such-package': () => require('no-such-package') } })
