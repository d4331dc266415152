import Foundation
import Platform

/// The file of a user defaults suite, as Foundation on Linux names it, with a copy.
///
/// Foundation truncates the file before writing it: a reader in between finds nothing, and a process that dies in
/// between loses everything. So this package's writers lock the copy first and save the file's contents in it. An empty
/// or truncated file is replaced by the copy atomically.
struct DefaultsFile: Sendable {
  /// The suffix of the copy, a hidden file that is also the lock.
  private static let ending = ".copy"
  /// How often a damaged file is read again, as a program without the lock may be writing it.
  private static let attempts = 4

  enum Contents {
    case absent
    /// A property list with a dictionary.
    case sound([UInt8])
    /// Empty, truncated, or something else.
    case damaged([UInt8])
  }

  let path: String
  let copyPath: String
  private let directoryPath: String
  private let name: String
  private let copyName: String

  /// - Parameter path: Links are followed, so that their target is replaced.
  init(path: String) {
    let url = URL(fileURLWithPath: path).resolvingSymlinksInPath()
    self.path = url.path
    directoryPath = url.deletingLastPathComponent().path
    name = url.lastPathComponent
    copyName = "." + name + Self.ending
    copyPath = directoryPath + "/" + copyName
  }

  /// Foundation's file for a suite, or for the standard defaults.
  init(suite: String?) {
    let name = suite ?? Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    self.init(path: DefaultsLocation.path(ofSuite: name))
  }

  /// The suite of defaults, if Foundation reveals it; `.some(nil)` for the standard defaults.
  ///
  /// Foundation has no function for this. The name is its first stored property, as a test verifies.
  static func suite(of defaults: UserDefaults) -> String?? {
    var mirror: Mirror? = Mirror(reflecting: defaults)
    while let current = mirror, current.subjectType != UserDefaults.self { mirror = current.superclassMirror }
    guard let property = mirror?.children.first, property.label == "suite" else { return nil }
    return .some(property.value as? String)
  }

  // MARK: Without the lock

  var hasCopy: Bool {
    get throws(SystemError) { try Directory(existing: directoryPath)?.kind(of: copyName) != nil }
  }

  func contents() throws(SystemError) -> Contents {
    guard let file = try Directory(existing: directoryPath)?.open(name) else { return .absent }
    let bytes = try file.readToEnd(limit: .max)
    return Self.isSound(bytes) ? .sound(bytes) : .damaged(bytes)
  }

  private static func isSound(_ bytes: [UInt8]) -> Bool {
    do {
      return try unsafe PropertyListSerialization.propertyList(from: Data(bytes), options: [], format: nil)
        is [String: Any]
    } catch {
      return false
    }
  }

  // MARK: With the lock

  /// Waits for the lock and creates the locked copy.
  ///
  /// - Parameter limit: Nanoseconds.
  /// - Throws: `DefaultsDamage` if another process does not release it in time.
  func lock(within limit: Int64) throws(DefaultsDamage) -> Locked {
    do {
      let directory = try Directory(path: directoryPath, creating: true)
      let deadline = MonotonicClock.nanoseconds + limit
      repeat {
        let lock = FileLock(try directory.create(copyName))
        let isLocked = try lock.lock(.exclusive, within: max(0, deadline - MonotonicClock.nanoseconds))
        // A lock on a removed copy excludes no one.
        if isLocked, try lock.file.isStill(copyName, in: directory) {
          return Locked(file: self, directory: directory, lock: lock)
        }
      } while MonotonicClock.nanoseconds < deadline
    } catch {
      throw .unwritten(path, "\(copyPath) cannot be locked (\(error))")
    }
    throw .unwritten(path, "another process has kept \(copyPath) locked for \(limit / 1_000_000_000) s")
  }

  /// The locked file: no other process of this package reads or writes it.
  struct Locked: ~Copyable {
    let file: DefaultsFile
    fileprivate let directory: Directory
    fileprivate let lock: FileLock

    /// Replaces a damaged file with the copy, or removes it without one.
    borrowing func repair() throws(DefaultsDamage) -> DefaultsDamage? {
      do {
        for attempt in 1...DefaultsFile.attempts {
          guard case .damaged(let bytes) = try file.contents() else { return nil }
          if attempt == DefaultsFile.attempts { return try replace(bytes) }
          MonotonicClock.sleep(nanoseconds: 20_000_000)
        }
        return nil
      } catch {
        throw .unwritten(file.path, "it is damaged, and cannot be repaired (\(error))")
      }
    }

    private borrowing func replace(_ damaged: [UInt8]) throws(SystemError) -> DefaultsDamage {
      let saved = try lock.file.readToEnd(limit: .max)
      var kept: String?
      if !damaged.isEmpty {
        kept = file.path + ".damaged"
        try Self.replace(directory.create(file.name + ".damaged"), with: damaged)
      }
      guard DefaultsFile.isSound(saved) else {
        try directory.remove(file.name)
        return .lost(file.path, keptIn: kept)
      }
      let new = file.copyName + ".new"
      try Self.replace(directory.create(new), with: saved)
      try directory.rename(new, to: file.name)
      return .restored(file.path)
    }

    /// Replaces a file's contents durably.
    private static func replace(_ file: borrowing File, with bytes: [UInt8]) throws(SystemError) {
      try file.truncate(to: 0)
      try file.write(bytes, at: 0)
      try file.synchronize()
    }

    /// Removes the copy of a missing file, for example of an emptied suite. Must be the last use of the lock: waiters
    /// notice, and lock a new copy.
    borrowing func removeUnneededCopy() {
      do {
        if case .absent = try file.contents() { try directory.remove(file.copyName) }
      } catch {
        // An empty copy does no harm.
      }
    }

    borrowing func saveCopy() throws(DefaultsDamage) {
      do throws(SystemError) {
        let contents: [UInt8]? =
          switch try file.contents() {
          case .absent: []
          case .sound(let contents): contents
          case .damaged: nil
          }
        if let contents {
          if try lock.file.readToEnd(limit: .max) != contents { try Self.replace(lock.file, with: contents) }
          return
        }
      } catch {
        throw .unwritten(file.path, "no copy can be saved in \(file.copyPath) (\(error))")
      }
      throw .unwritten(file.path, "it is damaged")
    }
  }
}

package enum DefaultsLocation {
  package static func path(ofSuite name: String) -> String {
    #if canImport(Darwin)
      let directory = NSHomeDirectory() + "/Library/Preferences"
    #else
      let directory = BaseDirectory.configuration.path()
    #endif
    return "\(directory)/\(name).plist"
  }
}

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
