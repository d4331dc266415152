struct CallFailure: Error {
  enum Kind {
    /// No answer before the deadline.
    case timedOut
    /// The bus or the service is missing or has ended.
    case disconnected
    /// The item, collection or prompt does not exist.
    case noObject
    /// The item or the collection is locked.
    case locked
    /// The service does not know the session.
    case noSession
    /// The bus refuses to pass the message.
    case denied
    case other
  }

  var kind: Kind
  /// The error's name on the bus, or its domain and code.
  var name: String
  var message: String

  init(_ kind: Kind, name: String = "", message: String) {
    self.kind = kind
    self.name = name
    self.message = message
  }

  init(remote name: String, message: String) {
    let kind: Kind =
      switch name {
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
        "org.freedesktop.DBus.Error.Disconnected":
        .disconnected
      // The bus says this when the called process has ended.
      case "org.freedesktop.DBus.Error.NoReply": .disconnected
      // Services differ here.
      case "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
        "org.freedesktop.DBus.Error.UnknownMethod":
        .noObject
      case "org.freedesktop.Secret.Error.IsLocked": .locked
      case "org.freedesktop.Secret.Error.NoSession": .noSession
      case "org.freedesktop.DBus.Error.AccessDenied": .denied
      case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": .timedOut
      default: .other
      }
    self.init(kind, name: name, message: message)
  }

  static let timedOut = CallFailure(.timedOut, message: "no answer in time")

  var text: String {
    switch (name.isEmpty, message.isEmpty) {
    case (true, _): message
    case (_, true): name
    default: "\(name): \(message)"
    }
  }
}
