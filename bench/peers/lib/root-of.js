'use strict'
// The field that is asked for, in a message that was parsed.

/** @param {any} message  its content may be text: then it is private */
function rootOf (message) {
  return message.value.content.root
}

exports.rootOf = rootOf
