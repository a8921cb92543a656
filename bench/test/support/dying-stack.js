'use strict'
// Millrace, but its process ends in the middle of a read.

const [, , ours] = require('../../tables/layers/stacks').parts

module.exports = {
  ...ours,
  name: 'mortal',
  label: 'Mortal',
  order: 20,
  primitives: {
    ...ours.primitives,
    async blocks () {
      return {
        run () { throw new Error('the disk is made of cheese') },
        async close () {}
      }
    }
  }
}
