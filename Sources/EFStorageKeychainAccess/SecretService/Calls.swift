import CSecret

/// Every call of libsecret, GIO and GLib in this module, except those for values in `Variant.swift` and `Secret.swift`.
/// All waits have a deadline.
///
/// It avoids four behaviors of GIO and libsecret:
///
/// - `g_bus_get` shares a connection that ends the process when the bus does, and starts a missing bus. A private
///   connection does neither.
/// - libsecret's simple functions choose a backend by the environment, which may be a file. Only a proxy of the service
///   on the private connection is used, to encrypt and decrypt.
/// - Its functions that may prompt, to unlock, create or delete, answer a cancellation with `Dismiss`, and then wait
///   for the prompt's end without limit. `Dismiss` ends GNOME Keyring 42: see ``prompt(_:owner:path:shownBy:until:)``.
/// - Other calls wait for 25 seconds. ``Exchange`` calls the methods with a limit instead.
///
/// Threads: any. A wait runs a separate main context, never the caller's.
enum Calls {
  // MARK: - Environment

  /// `nil` also if the program runs with more rights than its caller, since the caller sets the variables.
  static func environmentVariable(_ name: String) -> String? { unsafe text(secure_getenv(name)) }

  private static func text(_ text: UnsafePointer<CChar>?) -> String? { unsafe text.map { unsafe String(cString: $0) } }

  // MARK: - Connection

  /// A connection to the message bus at `address`, registered with it.
  static func connect(to address: String, until deadline: Deadline) throws(CallFailure) -> BusConnection {
    let flags = GDBusConnectionFlags(
      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
        | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
    return try unsafe wait(until: deadline) { cancellable, callback, data in
      unsafe g_dbus_connection_new_for_address(address, flags, nil, cancellable, callback, data)
    } finish: { result, error in
      unsafe g_dbus_connection_new_for_address_finish(result, error).map { unsafe BusConnection(owning: $0) }
    }
  }

  static func isClosed(_ connection: BusConnection) -> Bool {
    unsafe g_dbus_connection_is_closed(connection.pointer) != 0
  }

  /// Calls a method and waits for its reply of the type `reply`.
  static func call(
    _ connection: BusConnection, to name: String, path: String, interface: String, method: String,
    _ arguments: Variant?, reply: StaticString, until deadline: Deadline
  ) throws(CallFailure) -> Variant {
    guard let timeout = deadline.remainingMilliseconds else { throw .timedOut }
    var error: UnsafeMutablePointer<GError>?
    let answer = unsafe g_dbus_connection_call_sync(
      connection.pointer, name, path, interface, method, arguments?.pointer, Variant.type(reply),
      G_DBUS_CALL_FLAGS_NO_AUTO_START, timeout, nil, &error)
    guard let answer = unsafe answer else { throw unsafe failure(taking: error) }
    return unsafe Variant(owning: answer)
  }

  // MARK: - Session

  /// A proxy of the service with the bus name `owner` and an open session.
  static func openService(
    _ connection: BusConnection, owner: String, until deadline: Deadline
  ) throws(CallFailure) -> GObjectReference {
    var error: UnsafeMutablePointer<GError>?
    guard let proxy = unsafe csecret_service_new(serviceType, connection.pointer, owner, &error) else {
      throw unsafe failure(taking: error)
    }
    let service = unsafe GObjectReference(owning: proxy)
    let isOpen: Bool = try unsafe wait(until: deadline) { cancellable, callback, data in
      unsafe secret_service_ensure_session(service.pointer, cancellable, callback, data)
    } finish: { result, error in
      unsafe secret_service_ensure_session_finish(service.pointer, result, error) != 0 ? true : nil
    }
    precondition(isOpen)
    return service
  }

  /// `SecretService` on a given connection.
  ///
  /// libsecret's constructor resets every property, so that the proxy uses GIO's shared connection. The constructor of
  /// this derived type then restores its arguments.
  private static let serviceType: GType = {
    let name = "LMDBCachingSecretService"
    // Registered before if this code is in the process twice.
    let registered = unsafe g_type_from_name(name)
    guard registered == 0 else { return registered }
    var parent = unsafe GTypeQuery()
    unsafe g_type_query(secret_service_get_type(), &parent)
    let type = unsafe g_type_register_static_simple(
      parent.type, name, parent.class_size,
      { classPointer, _ in
        unsafe classPointer?.assumingMemoryBound(to: GObjectClass.self).pointee.constructor = {
          type, count, properties in
          let parent = unsafe g_type_class_peek(secret_service_get_type())!.assumingMemoryBound(to: GObjectClass.self)
          let object = unsafe parent.pointee.constructor(type, count, properties)
          for index in 0..<Int(count) {
            guard let property = unsafe properties?[index] else { continue }
            let name = unsafe String(cString: g_param_spec_get_name(property.pspec))
            if ["g-bus-type", "g-name", "g-flags"].contains(name) {
              unsafe g_object_set_property(object, name, property.value)
            }
          }
          return unsafe object
        }
      }, parent.instance_size, nil, 0)
    precondition(type != 0, "GObject did not register \(name)")
    return type
  }()

  static func sessionPath(_ service: GObjectReference) -> String? {
    unsafe text(secret_service_get_session_dbus_path(service.pointer))
  }

  /// The secret in the form of a message, `(oayays)`, encrypted if the session is.
  static func encode(_ secret: Secret, for service: GObjectReference) -> Variant? {
    withExtendedLifetime(secret) {
      unsafe secret_service_encode_dbus_secret(service.pointer, secret.value).map { unsafe Variant(sinking: $0) }
    }
  }

  /// The secret of a message, or `nil` if it belongs to another session.
  static func decode(_ secret: Variant, from service: GObjectReference) -> Secret? {
    unsafe secret_service_decode_dbus_secret(service.pointer, secret.pointer).map { unsafe Secret(owning: $0) }
  }

  // MARK: - Prompts

  /// Shows a prompt and waits for its result, `nil` if it was dismissed.
  ///
  /// Fails with ``CallFailure/timedOut`` at the deadline, or at the earlier `limit` if the service has not shown the
  /// prompt by then. The prompt is left to the service, never dismissed: `Dismiss` on a prompt to unlock makes GNOME
  /// Keyring 42 fail an assertion and end.
  static func prompt(
    _ connection: BusConnection, owner: String, path: String, shownBy limit: Deadline, until deadline: Deadline
  ) throws(CallFailure) -> Variant? {
    let loop = EventLoop()
    let state = PromptState()
    defer { withExtendedLifetime(state) {} }
    func subscribe(_ sender: String, _ interface: String, _ signal: String, path: String?, about name: String?) -> guint
    {
      unsafe g_dbus_connection_signal_subscribe(
        connection.pointer, sender, interface, signal, path, name, G_DBUS_SIGNAL_FLAGS_NONE,
        { _, _, _, _, signal, parameters, state in
          guard let signal = unsafe signal, let parameters = unsafe parameters, let state = unsafe state else { return }
          unsafe Unmanaged<PromptState>.fromOpaque(state).takeUnretainedValue()
            .receive(String(cString: signal), Variant(retaining: parameters))
        }, Unmanaged.passUnretained(state).toOpaque(), nil)
    }
    let bus = "org.freedesktop.DBus"
    let signals = [
      subscribe(owner, promptInterface, "Completed", path: path, about: nil),
      subscribe(bus, bus, "NameOwnerChanged", path: nil, about: owner),
    ]
    defer { for signal in signals { unsafe g_dbus_connection_signal_unsubscribe(connection.pointer, signal) } }
    _ = try call(
      connection, to: owner, path: path, interface: promptInterface, method: "Prompt", .tuple([.string("")]),
      reply: "()", until: limit)
    while true {
      switch state.end {
      case .completed(let result): return result
      case .dismissed: return nil
      case .disconnected: throw CallFailure(.disconnected, message: "the service ended while it prompted")
      case nil: break
      }
      // Its end makes no signal.
      if isClosed(connection) { throw CallFailure(.disconnected, message: "the bus ended during a prompt") }
      if deadline.remainingMilliseconds == nil { throw .timedOut }
      loop.iterate()
    }
  }

  private static let promptInterface = "org.freedesktop.Secret.Prompt"

  /// The end of a prompt. Used by the one thread that runs the context of its signals.
  private final class PromptState {
    enum End {
      case completed(Variant), dismissed, disconnected
    }
    var end: End?

    func receive(_ signal: String, _ parameters: Variant) {
      guard end == nil else { return }
      guard signal == "Completed" else {
        end = .disconnected
        return
      }
      guard parameters.count == 2, let isDismissed = parameters[0].boolean else {
        end = .dismissed
        return
      }
      end = isDismissed ? .dismissed : .completed(parameters[1].unboxed)
    }
  }

  // MARK: - Waiting

  private typealias Callback = @convention(c) (OpaquePointer?, OpaquePointer?, gpointer?) -> Void

  private final class Completion {
    var result: GObjectReference?
  }

  /// Runs an asynchronous function of GIO to its end, cancelling it at the deadline.
  private static func wait<Value>(
    until deadline: Deadline,
    _ start: (OpaquePointer, @escaping Callback, gpointer) -> Void,
    finish: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> Value?
  ) throws(CallFailure) -> Value {
    guard let rest = deadline.remainingMilliseconds else { throw .timedOut }
    let loop = EventLoop(tick: max(1, min(rest, 100)))
    let cancellable = unsafe GObjectReference(owning: g_cancellable_new())
    let completion = Completion()
    unsafe start(
      cancellable.pointer,
      { _, result, completion in
        guard let result = unsafe result, let completion = unsafe completion else { return }
        unsafe g_object_ref(gpointer(result))
        unsafe Unmanaged<Completion>.fromOpaque(completion).takeUnretainedValue().result = GObjectReference(
          owning: result)
      }, Unmanaged.passUnretained(completion).toOpaque())
    // The callback always comes: all functions used here honor the cancellation.
    while true {
      guard let result = completion.result else {
        if deadline.remainingMilliseconds == nil { unsafe g_cancellable_cancel(cancellable.pointer) }
        loop.iterate()
        continue
      }
      var error: UnsafeMutablePointer<GError>?
      guard let value = unsafe finish(result.pointer, &error) else { throw unsafe failure(taking: error) }
      return value
    }
  }

  // MARK: - Failures

  /// Converts and frees the error.
  private static func failure(taking error: UnsafeMutablePointer<GError>?) -> CallFailure {
    guard let error = unsafe error else { return CallFailure(.other, message: "failed and did not say why") }
    let remote = unsafe g_dbus_error_get_remote_error(error)
    unsafe g_dbus_error_strip_remote_error(error)
    defer {
      unsafe g_free(remote)
      unsafe g_error_free(error)
    }
    let (domain, code) = unsafe (error.pointee.domain, error.pointee.code)
    let message = unsafe text(error.pointee.message) ?? ""
    if let name = unsafe text(remote) { return CallFailure(remote: name, message: message) }
    let name = unsafe "\(text(g_quark_to_string(domain)) ?? "unknown") \(code)"
    return CallFailure(domain == g_io_error_quark() ? kind(of: code) : .other, name: name, message: message)
  }

  private static func kind(of code: gint) -> CallFailure.Kind {
    switch GIOErrorEnum(rawValue: CUnsignedInt(bitPattern: code)) {
    // Only a deadline cancels here.
    case G_IO_ERROR_TIMED_OUT, G_IO_ERROR_CANCELLED: .timedOut
    case G_IO_ERROR_CLOSED, G_IO_ERROR_BROKEN_PIPE, G_IO_ERROR_NOT_CONNECTED: .disconnected
    default: .other
    }
  }
}

/// A reference to an object of GLib.
// @unchecked: GLib counts references atomically, and the objects used here may be used by any thread.
// @safe: the object lives as long as this reference.
@safe class GObjectReference: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes over the caller's reference.
  init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

  deinit { unsafe g_object_unref(gpointer(pointer)) }
}

/// A connection to a message bus, closed with the object.
// @unchecked: as its superclass.
final class BusConnection: GObjectReference, @unchecked Sendable {
  deinit { unsafe g_dbus_connection_close(pointer, nil, nil, nil) }
}

/// A main context for the waits of one thread. It wakes after each tick, to look at the time and the connection.
// @safe: owns the context and the timer.
@safe private struct EventLoop: ~Copyable {
  private let context: OpaquePointer
  private let timer: OpaquePointer

  /// - Parameter tick: Milliseconds.
  init(tick: Int32 = 100) {
    unsafe (context, timer) = (g_main_context_new(), g_timeout_source_new(guint(tick)))
    unsafe g_main_context_push_thread_default(context)
    unsafe g_source_set_callback(timer, { _ in 1 }, nil, nil)
    unsafe g_source_attach(timer, context)
  }

  deinit {
    unsafe g_source_destroy(timer)
    unsafe g_source_unref(timer)
    unsafe g_main_context_pop_thread_default(context)
    unsafe g_main_context_unref(context)
  }

  /// Waits for events and handles them.
  func iterate() { unsafe g_main_context_iteration(context, 1) }
}
