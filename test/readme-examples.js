'use strict'
// The examples of a README, and what they promise to print.

/** @param {string} markdown  @param {string} [language] */
function examplesOf (markdown, language = 'js') {
  const pattern = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')
  return [...markdown.matchAll(pattern)].map((match) => match[1])
}

/** What the comments behind console.log say, a line each. @param {string} example */
function promisedOutput (example) {
  return [...example.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1])
}

exports.examplesOf = examplesOf
exports.promisedOutput = promisedOutput
