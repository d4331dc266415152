import Foundation

/// A problem with a user defaults file, and its remedy.
package struct DefaultsDamage: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The file was empty or truncated, and its previous contents were restored.
    case restored
    /// The file was empty or unreadable, and there is no copy. Its contents are lost; unreadable bytes are kept in a
    /// separate file.
    case lost
    /// The file could not be written, or not locked in time. Changes stay in memory and are written later.
    case unwritten
  }

  package let kind: Kind
  package let description: String
  package var errorDescription: String? { description }

  static func restored(_ path: String) -> Self {
    Self(
      kind: .restored,
      description:
        "\(path) was empty or cut off, and was restored from the copy beside it. Changes that were made after the copy are "
        + "gone; set them again. Look for a program that writes the file in place.")
  }

  static func lost(_ path: String, keptIn kept: String?) -> Self {
    let kept = kept.map { "What was in it is kept in \($0)" } ?? "It held nothing"
    return Self(
      kind: .lost,
      description:
        "\(path) was empty or cannot be read, and there is no copy of it. \(kept). Set what is needed again.")
  }

  static func unwritten(_ path: String, _ reason: String) -> Self {
    Self(
      kind: .unwritten,
      description:
        "\(path) was not written: \(reason). Check the disk's space, the permissions, and for suspended processes.")
  }
}
