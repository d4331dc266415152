public import Foundation

/// Where and how much to measure.
public struct Setting {
  public enum Scale: Sendable { case check, quick, full }

  public let scale: Scale
  /// A directory on the disk to measure on.
  public let scratch: URL
  /// The folder of the traces.
  public let traces: URL
  /// Whether the stores of others are filled as well. Other subjects are cheap to make, and always there.
  public let hasPeers: Bool

  public init(scale: Scale, scratch: URL, traces: URL, hasPeers: Bool = true) {
    self.scale = scale
    self.scratch = scratch
    self.traces = traces
    self.hasPeers = hasPeers
  }

  /// Those of the stores that are to be measured.
  func chosen(_ kinds: [DiskSubjectKind]) -> [DiskSubjectKind] { hasPeers ? kinds : kinds.filter(\.isOwn) }

  /// A new, empty directory.
  func directory() throws -> URL {
    let url = scratch.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }

  func remove(_ directory: URL) throws { try FileManager.default.removeItem(at: directory) }

  /// Calls of every scale do the same with less.
  func pick<T>(check: T, quick: T, full: T) -> T {
    switch scale {
    case .check: check
    case .quick: quick
    case .full: full
    }
  }
}
