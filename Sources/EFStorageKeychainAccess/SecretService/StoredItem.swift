import Foundation

struct StoredItem: Sendable {
  var path: String
  var label: String
  var attributes: [String: String]
  var created: Date?
  var modified: Date?
  /// `nil` if not requested, or locked.
  var secret: Secret?

  /// From the properties of `org.freedesktop.Secret.Item`.
  init(path: String, properties: [String: Variant]) {
    func date(_ name: String) -> Date? {
      properties[name]?.uint64.flatMap { $0 == 0 ? nil : Date(timeIntervalSince1970: TimeInterval($0)) }
    }
    self.path = path
    label = properties["Label"]?.text ?? ""
    attributes = properties["Attributes"]?.strings ?? [:]
    created = date("Created")
    modified = date("Modified")
  }
}
