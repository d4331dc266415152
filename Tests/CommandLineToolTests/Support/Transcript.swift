import Foundation
import Testing

/// Commands of the tool, one after another, with the exit status and the output that each of them must have.
///
///     $ set greeting hello
///     $ get greeting
///     = hello
///     $1 get nothing
///     ! nothing
///
/// A command gets `--cache` with the scratch directory's cache, unless it has one; `$$` passes only the given words. The
/// number is the exit status. `@` in front of a word stands for the scratch directory, alone for the cache. Single
/// quotes join words. After ` < ` comes the input. The lines after a command are expectations:
///
/// - `= text`: the whole output
/// - `> text`: a line of the whole output; several lines follow each other
/// - `| words`: the first words of a line
/// - `~ text`, `^ text`: a part of the output, and text that is not in it
/// - `# 3`: the number of lines
/// - `{ name=value …`: fields of the JSON output
/// - `! text`: a part of the errors; `!` alone: no errors
/// - `/ names`: the contents of the scratch directory
///
/// A command that fails must write nothing to its output unless an expectation says otherwise.
struct Transcript {
  private struct Call {
    let line: String
    var status: Int32 = 0
    var words: [String] = []
    var input = ""
    var expectations: [(kind: Character, text: String)] = []
  }

  private let scratch: Scratch
  private var calls: [Call] = []

  init(_ text: String, in scratch: Scratch) {
    self.scratch = scratch
    for line in text.split(separator: "\n") {
      if line.hasPrefix("$") {
        calls.append(call(String(line)))
      } else {
        let rest = line.dropFirst().hasPrefix(" ") ? line.dropFirst(2) : line.dropFirst()
        calls[calls.count - 1].expectations.append((line.first!, String(rest)))
      }
    }
  }

  private func call(_ line: String) -> Call {
    var call = Call(line: line)
    let isWhole = line.hasPrefix("$$")
    let rest = line.drop { $0 == "$" }
    let digits = rest.prefix { $0.isNumber }
    call.status = Int32(digits) ?? 0
    var words = String(rest.dropFirst(digits.count))
    if let place = words.range(of: " < ") {
      call.input = String(words[place.upperBound...])
      words = String(words[..<place.lowerBound])
    }
    for (index, part) in words.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
      if index % 2 == 1 {
        call.words.append(String(part))
      } else {
        call.words += part.split(separator: " ").map { word in
          if word == "@" { return scratch.cache }
          return word.hasPrefix("@") ? scratch.path(String(word.dropFirst())) : String(word)
        }
      }
    }
    if !isWhole, !call.words.contains("--cache") { call.words += ["--cache", scratch.cache] }
    return call
  }

  func run(environment: [String: String], _ sourceLocation: SourceLocation) async throws {
    for call in calls {
      let result = try await Tool.run(call.words, input: Data(call.input.utf8), environment: environment)
      let isExpected = try isRight(result, call)
      #expect(
        result.status == call.status && isExpected,
        """
        \(call.line): \(isExpected ? "" : "not as expected, ")status \(result.status)
        \(result.text.prefix(2_000))
        \(result.errors.prefix(2_000))
        """, sourceLocation: sourceLocation)
    }
  }

  private func isRight(_ result: ToolResult, _ call: Call) throws -> Bool {
    let lines = call.expectations.filter { $0.kind == ">" }.map { $0.text + "\n" }
    if !lines.isEmpty, result.output != Data(lines.joined().utf8) { return false }
    let isOutputExpected = call.expectations.contains { "=>|~^#{".contains($0.kind) }
    if call.status != 0, !isOutputExpected, !result.output.isEmpty { return false }
    return try call.expectations.allSatisfy { try holds($0.kind, $0.text, result) }
  }

  private func holds(_ kind: Character, _ text: String, _ result: ToolResult) throws -> Bool {
    let words = text.split(separator: " ")
    let lines = result.text.split(separator: "\n")
    switch kind {
    case "=": return result.output == Data(text.utf8)
    // All of these lines together are the output.
    case ">": return true
    case "|": return lines.contains { $0.split(separator: " ").starts(with: words) }
    case "~": return result.text.contains(text)
    case "^": return !result.text.contains(text)
    case "#": return lines.count == Int(text)
    case "{":
      let object = result.text.filter { !$0.isWhitespace }
      return words.allSatisfy { word in
        let field = word.split(separator: "=", maxSplits: 1)
        return [",", "}", "]"].contains { object.contains("\"\(field[0])\":\(field[1])\($0)") }
      }
    case "!": return text.isEmpty ? result.errors.isEmpty : result.errors.contains(text)
    case "/": return try scratch.names == words.map(String.init)
    default: return false
    }
  }
}

extension Scratch {
  func expect(
    _ transcript: String, environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await Transcript(transcript, in: self).run(environment: environment, sourceLocation)
  }

  /// Flips a bit of a value in the value log; the value is `count` bytes of `byte`.
  func damageLongValue(_ byte: UInt8, count: Int = 100) throws {
    let folder = URL(fileURLWithPath: cache + "/values")
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder.path).first)
    var segment = try Data(contentsOf: folder.appendingPathComponent(name))
    let place = try #require(segment.firstRange(of: Data(repeating: byte, count: count)))
    segment[place.lowerBound] ^= 1
    try segment.write(to: folder.appendingPathComponent(name))
  }
}
