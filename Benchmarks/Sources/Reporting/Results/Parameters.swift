/// Distinguishes workloads of the same name.
public struct Parameters: Codable, Equatable, Sendable, CustomStringConvertible {
  public var keys: Int?
  /// In bytes.
  public var valueSize: Int?
  /// The most entries that a subject may hold.
  public var capacity: Int?
  /// The trace or type to work on, for example.
  public var content: String?

  public init(keys: Int? = nil, valueSize: Int? = nil, capacity: Int? = nil, content: String? = nil) {
    self.keys = keys
    self.valueSize = valueSize
    self.capacity = capacity
    self.content = content
  }

  public var description: String {
    var parts: [String] = []
    if let content { parts.append(content) }
    if let valueSize { parts.append(valueSize < 1000 ? "\(valueSize) B" : "\((valueSize + 512) / 1024) KB") }
    if let keys { parts.append("\(short(keys)) keys") }
    if let capacity { parts.append("capacity \(short(capacity))") }
    return parts.joined(separator: ", ")
  }

  private func short(_ count: Int) -> String {
    if count >= 1_000_000, count % 1_000_000 == 0 { return "\(count / 1_000_000) M" }
    return count >= 1000 && count % 1000 == 0 ? "\(count / 1000) k" : "\(count)"
  }
}
