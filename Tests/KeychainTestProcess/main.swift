import EFStorageKeychainAccess
import Foundation

// Another process for the keychain's tests: reads commands from its standard input, one a line, words separated by
// spaces, and answers each with one line. It knows the session bus by its environment alone.

func run(_ words: [String]) throws -> String {
  let keychain = Keychain(service: words[1]).timeout(.seconds(5))
  switch words[0] {
  case "set": try keychain.set(words[3], key: words[2])
  case "get": return try keychain.get(words[2]) ?? "nil"
  case "remove": try keychain.remove(words[2])
  case "storm":
    // The same key, again and again, against other processes.
    for number in 0..<Int(words[3])! { try keychain.set("\(getpid())-\(number)", key: words[2]) }
  case "default":
    // The keychain that names no service.
    try Keychain().set(words[2], key: words[1])
    return Keychain().service
  case "all": return keychain.allKeys().sorted().joined(separator: ",")
  default: return "unknown command"
  }
  return "ok"
}

while let line = readLine() {
  let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
  let start = ContinuousClock.now
  let answer: String
  do { answer = try run(words) } catch {
    // The code, and the milliseconds until it was thrown.
    let code = (error as? KeychainError).map { "\($0.code)" } ?? "\(error)"
    answer = "error \(code) \(Int((ContinuousClock.now - start) / .milliseconds(1)))"
  }
  FileHandle.standardOutput.write(Data((answer + "\n").utf8))
}
