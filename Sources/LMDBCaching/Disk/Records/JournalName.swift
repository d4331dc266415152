import Platform

/// What the journals of a cache's processes are called.
enum JournalName {
  /// The folder that they are in.
  static let folder = "journals"
  private static let names = NumberedName(suffix: ".journal")

  static func of(_ identifier: UInt64) -> String { names.name(identifier) }

  /// Returns `nil` if the name is none of a journal's.
  static func identifier(of name: String) -> UInt64? { names.number(of: name) }

  /// Whether there is a journal: a process has it open, or what it holds is yet to be applied.
  ///
  /// - Throws: For a link, or something else, in the folder's place.
  static func isTaken(_ identifier: UInt64, in cache: Directory) throws(SystemError) -> Bool {
    guard let folder = try cache.subdirectory(folder) else { return false }
    return try folder.kind(of: of(identifier)) == .regular
  }
}
