public import Foundation

/// The file that `--json` writes.
public struct Report: Encodable, Sendable {
  public var machine: Machine
  public var isQuick: Bool
  public var results: [SubjectResult]
  public var goals: [Judgement]

  public init(machine: Machine, isQuick: Bool, results: [SubjectResult], goals: [Judgement]) {
    self.machine = machine
    self.isQuick = isQuick
    self.results = results
    self.goals = goals
  }

  /// Sorted by key, so that two files can be compared.
  public func json() throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(self)
  }
}
