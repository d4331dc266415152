import Platform

enum JournalName {
  static let folder = "journals"
  private static let names = NumberedName(suffix: ".journal")

  static func of(_ identifier: UInt64) -> String { names.name(identifier) }

  static func identifier(of name: String) -> UInt64? { names.number(of: name) }

  /// Whether a journal exists: a process has it open, or it awaits a replay.
  static func isTaken(_ identifier: UInt64, in cache: Directory) throws(SystemError) -> Bool {
    guard let folder = try cache.subdirectory(folder) else { return false }
    return try folder.kind(of: of(identifier)) == .regular
  }
}
