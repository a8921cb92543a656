'use strict'
// A task that is done, and throws or ends its thread afterwards.

module.exports = ({ how }) => {
  return {
    onRecords () {},
    end () {
      setTimeout(() => {
        if (how === 'exit') process.exit(5)
        throw new Error('left behind')
      }, 10)
      return how
    }
  }
}
