import EFStorageKeychainAccess
import Foundation

// Another process for the keychain's tests: reads commands from its standard input, one a line, words separated by
// spaces, and answers each with one line. It knows the session bus by its environment alone.

func residentKiB() -> Int {
  let fields = try! String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
  return Int(fields[1])! * 4
}

func run(_ words: [String]) throws -> String {
  let keychain = Keychain(service: words[1]).timeout(.seconds(5))
  switch words[0] {
  case "set": try keychain.set(words[3], key: words[2])
  case "get": return try keychain.get(words[2]) ?? "nil"
  case "remove": try keychain.remove(words[2])
  case "storm":
    // The same key, again and again, against other processes.
    for number in 0..<Int(words[3])! { try keychain.set("\(getpid())-\(number)", key: words[2]) }
  case "repeat":
    // Reads, writes and lists, so often, and answers by how many KiB the process has grown since a tenth of that.
    let count = Int(words[2])!
    var before = 0
    for number in 0..<count {
      if number == count / 10 { before = residentKiB() }
      try keychain.set(Data(repeating: UInt8(truncatingIfNeeded: number), count: 5000), key: "k")
      _ = try keychain.comment("\(number)").get("k") { $0 }
      _ = try keychain.keys()
      if number % 10 == 0 { try keychain.label("\(number)").comment("\(number)").set("x", key: "k") }
    }
    return String(residentKiB() - before)
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
  let answer: String
  do {
    let start = ContinuousClock.now
    do { answer = try run(words) } catch let error as KeychainError {
      // What it was, and after how long.
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      answer = "error \(error.code) \(seconds * 1000 + attoseconds / 1_000_000_000_000_000)"
    }
  } catch { answer = "error \(error)" }
  FileHandle.standardOutput.write(Data((answer + "\n").utf8))
}
