public import Foundation

/// Where and how much to measure.
public struct Setting {
  public enum Scale: Sendable { case check, quick, full }

  public let scale: Scale
  /// A directory on the disk to measure.
  public let scratch: URL
  public let traces: URL
  /// Whether other libraries' stores are measured too. Other subjects are cheap and always present.
  public let hasPeers: Bool

  public init(scale: Scale, scratch: URL, traces: URL, hasPeers: Bool = true) {
    self.scale = scale
    self.scratch = scratch
    self.traces = traces
    self.hasPeers = hasPeers
  }

  func chosen(_ kinds: [DiskSubjectKind]) -> [DiskSubjectKind] { hasPeers ? kinds : kinds.filter(\.isOwn) }

  func directory() throws -> URL {
    let url = scratch.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    return url
  }

  func remove(_ directory: URL) throws { try FileManager.default.removeItem(at: directory) }

  /// Every scale does the same work in a different amount.
  func pick<T>(check: T, quick: T, full: T) -> T {
    switch scale {
    case .check: check
    case .quick: quick
    case .full: full
    }
  }
}
